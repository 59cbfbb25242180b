#include "kernels/cpu/activation_pass.h"

#include "kernels/cpu/parallel.h"
#include "kernels/scalar/activations.h"

namespace mirrortrain::cpu {
namespace {

template <class T>
void activate_as(ops::ActivationKind kind, const TensorView& values, int threads) {
  T* const data = values.as<T>();
  scalar::with_activation(kind, [&]<class Activation>(Activation) {
    parallel_for(threads, values.elements(), 1024, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) data[i] = T(Activation::forward(static_cast<float>(data[i])));
    });
  });
}

}  // namespace

void activate(ops::ActivationKind kind, const TensorView& values, int threads) {
  if (kind == ops::ActivationKind::kLinear) return;
  if (values.dtype == DType::kBfloat16) {
    activate_as<bfloat16>(kind, values, threads);
  } else {
    activate_as<float>(kind, values, threads);
  }
}

}  // namespace mirrortrain::cpu
