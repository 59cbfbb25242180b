#include "base/philox.h"
#include "graph/ops/elementwise.h"
#include "kernels/cuda/custom_kernels.h"
#include "kernels/cuda/pack.h"
#include "kernels/cuda/stream_kernel.h"

namespace mirrortrain::cuda {
namespace {

/// Elements per Philox counter.
constexpr int kWords = 4;

/// A thread processes a pack of a row: one or two counters.
template <class T>
__global__ void __launch_bounds__(kBlock) drop(std::int64_t rows, std::int64_t elements, bool aligned, float rate,
                                               std::uint32_t random_stream, const StepParams* step, const T* x, T* y) {
  constexpr int kCount = kPackOf<T>;
  const Philox philox = Philox::with_key(step->seed);
  const auto step_word = static_cast<std::uint32_t>(step->step);
  const float scale = 1.0f / (1.0f - rate);
  const std::int64_t packs = (elements + kCount - 1) / kCount;
  for (std::int64_t number = grid_thread(); number < rows * packs; number += grid_threads()) {
    const Division place = divide(number, packs);
    const std::int64_t first = place.rest * kCount, left = elements - first, at = place.quotient * elements + first;
    const bool whole = aligned && left >= kCount;
    float value[kCount];
    load(value, x + at, left, whole);
#pragma unroll
    for (int i = 0; i < kCount; i += kWords) {
      const Philox::Words words =
          philox(static_cast<std::uint32_t>((first + i) / kWords),
                 static_cast<std::uint32_t>(step->first_row + place.quotient), step_word, random_stream);
      for (int k = 0; k < kWords; ++k) {
        value[i + k] = uniform_from_bits(words.word[k]) < rate ? 0.0f : value[i + k] * scale;
      }
    }
    store(y + at, value, left, whole);
  }
}

std::unique_ptr<Kernel> make_dropout(const ops::Dropout& op, const KernelSpecs& specs) {
  const std::int64_t rows = specs.inputs[0].shape[0];
  const std::int64_t elements = rows == 0 ? 0 : specs.inputs[0].elements() / rows;
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return stream_kernel([=, rate = op.rate, random_stream = op.stream](Stream& stream, const KernelArgs& args) {
      const T* x = input<T>(args, 0);
      T* y = output<T>(args, 0);
      const bool aligned = elements % kPackOf<T> == 0 && in_packs(x, y);
      const std::int64_t packs = rows * ((elements + kPackOf<T> - 1) / kPackOf<T>);
      launch(stream, blocks_for(packs), kBlock, 0, drop<T>, rows, elements, aligned, rate, random_stream, args.step, x,
             y);
    });
  });
}

}  // namespace

void add_dropout_kernels(KernelRegistry& registry) { registry.add<ops::Dropout>(make_dropout); }

}  // namespace mirrortrain::cuda
