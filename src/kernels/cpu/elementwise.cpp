#include "graph/ops/elementwise.h"

#include <algorithm>

#include "kernels/cpu/loops.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/registry.h"
#include "kernels/scalar/activations.h"

namespace mirrortrain::cpu {
namespace {

std::unique_ptr<Kernel> make_activation(const ops::Activation& op, const KernelSpecs& specs) {
  const std::int64_t count = specs.inputs[0].elements();
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return loop_kernel([kind = op.kind, count, threads = specs.threads](const KernelArgs& args) {
      const T* x = input<T>(args, 0);
      T* y = output<T>(args, 0);
      scalar::with_activation(kind, [&](auto activation) {
        parallel_for(threads, count, kThreadGrain, [=](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) y[i] = T(activation.forward(x[i]));
        });
      });
    });
  });
}

std::unique_ptr<Kernel> make_activation_gradient(const ops::ActivationGradient& op, const KernelSpecs& specs) {
  const std::int64_t count = specs.inputs[0].elements();
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return loop_kernel([kind = op.kind, count, threads = specs.threads](const KernelArgs& args) {
      const T *from = input<T>(args, 0), *dy = input<T>(args, 1);
      T* dx = output<T>(args, 0);
      scalar::with_activation(kind, [&](auto activation) {
        parallel_for(threads, count, kThreadGrain, [=](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) dx[i] = T(activation.backward(from[i], dy[i]));
        });
      });
    });
  });
}

/// Adds [begin, end) of all inputs in float, in pieces that stay in the cache.
template <class T>
void add(const KernelArgs& args, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t kPiece = 1024;
  alignas(64) float sum[kPiece];
  for (; begin < end; begin += kPiece) {
    const std::int64_t piece = std::min(kPiece, end - begin);
    const T* first = input<T>(args, 0) + begin;
    for (std::int64_t i = 0; i < piece; ++i) sum[i] = first[i];
    for (std::size_t term = 1; term < args.inputs.size(); ++term) {
      const T* x = input<T>(args, term) + begin;
      for (std::int64_t i = 0; i < piece; ++i) sum[i] += x[i];
    }
    T* y = output<T>(args, 0) + begin;
    for (std::int64_t i = 0; i < piece; ++i) y[i] = T(sum[i]);
  }
}

std::unique_ptr<Kernel> make_add_n(const ops::AddN& op, const KernelSpecs& specs) {
  const std::int64_t count = specs.inputs[0].elements();
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return loop_kernel([count, threads = specs.threads](const KernelArgs& args) {
      parallel_for(threads, count, kThreadGrain,
                   [&](std::int64_t begin, std::int64_t end) { add<T>(args, begin, end); });
    });
  });
}

template <class From, class To>
std::unique_ptr<Kernel> make_cast_of(const KernelSpecs& specs) {
  return loop_kernel([count = specs.inputs[0].elements(), threads = specs.threads](const KernelArgs& args) {
    const From* x = input<From>(args, 0);
    To* y = output<To>(args, 0);
    parallel_for(threads, count, kThreadGrain, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) y[i] = To(static_cast<float>(x[i]));
    });
  });
}

std::unique_ptr<Kernel> make_cast(const ops::Cast& op, const KernelSpecs& specs) {
  if (specs.inputs[0].dtype == DType::kInt32) return make_cast_of<std::int32_t, float>(specs);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class From>(From) {
    return for_float_type(op, op.to, [&]<class To>(To) { return make_cast_of<From, To>(specs); });
  });
}

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

void add_elementwise_kernels(KernelRegistry& registry) {
  registry.add<ops::Activation>(make_activation);
  registry.add<ops::ActivationGradient>(make_activation_gradient);
  registry.add<ops::AddN>(make_add_n);
  registry.add<ops::Cast>(make_cast);
}

void activate(ops::ActivationKind kind, const TensorView& values, int threads) {
  if (kind == ops::ActivationKind::kLinear) return;
  if (values.dtype == DType::kBfloat16) {
    activate_as<bfloat16>(kind, values, threads);
  } else {
    activate_as<float>(kind, values, threads);
  }
}

}  // namespace mirrortrain::cpu
