#include "base/philox.h"
#include "graph/ops/elementwise.h"
#include "kernels/cpu/loops.h"
#include "kernels/cpu/registry.h"

namespace mirrortrain::cpu {
namespace {

/// Random words in vectors: Philox at 16 counters at once gives the words of 64 elements, in their order.
struct WordBlock {
  static constexpr int kCounters = 16, kWords = 4 * kCounters;
  alignas(64) std::uint32_t words[kWords];

  void fill(std::uint64_t key, std::uint32_t first_counter, std::uint32_t row, std::uint32_t step,
            std::uint32_t stream) {
    const Philox philox = Philox::with_key(key);
    for (int i = 0; i < kCounters; ++i) {
      const Philox::Words four = philox(first_counter + static_cast<std::uint32_t>(i), row, step, stream);
      for (int w = 0; w < 4; ++w) words[4 * i + w] = four.word[w];
    }
  }
};

struct RowDropout {
  float rate;
  std::uint32_t stream;
  std::uint64_t seed;
  std::uint32_t step;

  template <class T>
  void operator()(const T* x, T* y, std::int64_t elements, std::uint32_t row) const {
    const float scale = 1.0f / (1.0f - rate);
    WordBlock block;
    for (std::int64_t first = 0; first < elements; first += WordBlock::kWords) {
      block.fill(seed, static_cast<std::uint32_t>(first / 4), row, step, stream);
      const auto keep = [&](int i) {
        const float kept = static_cast<float>(x[first + i]) * scale;
        y[first + i] = T(uniform_from_bits(block.words[i]) < rate ? 0.0f : kept);
      };
      if (elements - first >= WordBlock::kWords) {
        for (int i = 0; i < WordBlock::kWords; ++i) keep(i);
      } else {
        for (int i = 0; i < elements - first; ++i) keep(i);
      }
    }
  }
};

std::unique_ptr<Kernel> make_dropout(const ops::Dropout& op, const KernelSpecs& specs) {
  const std::int64_t rows = specs.inputs[0].shape[0];
  const std::int64_t elements = rows == 0 ? 0 : specs.inputs[0].elements() / rows;
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return loop_kernel([=, rate = op.rate, stream = op.stream, threads = specs.threads](const KernelArgs& args) {
      const RowDropout drop{rate, stream, args.step->seed, static_cast<std::uint32_t>(args.step->step)};
      const T* x = input<T>(args, 0);
      T* y = output<T>(args, 0);
      parallel_for(threads, rows, rows_per_thread(elements), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
          drop(x + row * elements, y + row * elements, elements,
               static_cast<std::uint32_t>(args.step->first_row + row));
        }
      });
    });
  });
}

}  // namespace

void add_dropout_kernels(KernelRegistry& registry) { registry.add<ops::Dropout>(make_dropout); }

}  // namespace mirrortrain::cpu
