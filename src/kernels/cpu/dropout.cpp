#include "base/philox.h"
#include "graph/ops/elementwise.h"
#include "kernels/cpu/loops.h"
#include "kernels/cpu/registry.h"
#include "kernels/cpu/simd_elements.h"

namespace mirrortrain::cpu {
namespace {

constexpr int kCounters = 16, kWords = 4 * kCounters;

/// The words of 64 elements from `first_counter` on: Philox, round by round over 16 counters at once, which compiles to
/// vectors.
void fill_words(std::uint64_t key, std::uint32_t first_counter, std::uint32_t row, std::uint32_t step,
                std::uint32_t stream, std::uint32_t* __restrict words) {
  std::uint32_t c0[kCounters], c1[kCounters], c2[kCounters], c3[kCounters];
  for (int i = 0; i < kCounters; ++i) {
    c0[i] = first_counter + static_cast<std::uint32_t>(i);
    c1[i] = row;
    c2[i] = step;
    c3[i] = stream;
  }
  Philox philox = Philox::with_key(key);
  for (int round = 0; round < Philox::kRounds; ++round) {
#pragma omp simd
    for (int i = 0; i < kCounters; ++i) philox.round(c0[i], c1[i], c2[i], c3[i]);
    philox.next_round();
  }
#pragma omp simd
  for (int i = 0; i < kCounters; ++i) {
    words[4 * i] = c0[i];
    words[4 * i + 1] = c1[i];
    words[4 * i + 2] = c2[i];
    words[4 * i + 3] = c3[i];
  }
}

struct RowDropout {
  float rate;
  std::uint32_t stream;
  std::uint64_t seed;
  std::uint32_t step;

  template <class T>
  void operator()(const T* x, T* y, std::int64_t elements, std::uint32_t row) const {
    const float scale = 1.0f / (1.0f - rate);
    alignas(64) std::uint32_t words[kWords];
    for (std::int64_t first = 0; first < elements; first += kWords) {
      fill_words(seed, static_cast<std::uint32_t>(first / 4), row, step, stream, words);
      each_vector(std::min<std::int64_t>(kWords, elements - first), [&](std::int64_t i, auto part) {
        const WordVec bits = raw_load<WordVec>(words + i, Whole{});
        const Vec uniform = __builtin_convertvector(reinterpret_cast<IntVec>(bits >> 8), Vec) * (1.0f / 16777216.0f);
        const Vec kept = get(x + first + i, part) * scale;
        put(y + first + i, uniform < rate ? Vec{} : kept, part);
      });
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
