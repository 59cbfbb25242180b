#include <algorithm>
#include <vector>

#include "graph/ops/combine.h"
#include "kernels/cpu/registry.h"
#include "kernels/cpu/walk.h"
#include "kernels/scalar/combine.h"

namespace mirrortrain::cpu {
namespace {

using scalar::SumWalk;

/// The offsets of a sum's terms from the first one: runs of `stretch` elements that are `step` apart.
struct TermPlaces {
  std::vector<std::int64_t> starts;
  std::int64_t stretch, step;

  explicit TermPlaces(const Walk<1>& reduced)
      : stretch(reduced.extent[reduced.axes - 1]), step(reduced.stride[reduced.axes - 1][0]) {
    for (std::int64_t i = 0; i < reduced.count; i += stretch) starts.push_back(reduced.place(i).at[0]);
  }
};

/// Computes neighbouring sums together, each in double, so that vectors of neighbouring outputs are read line by line.
template <class T>
void add_terms(const TermPlaces& terms, const T* first, std::int64_t count, std::int64_t apart, double* sums) {
  std::fill(sums, sums + count, 0.0);
  for (const std::int64_t start : terms.starts) {
    const T* from = first + start;
    for (std::int64_t term = 0; term < terms.stretch; ++term, from += terms.step) {
      for (std::int64_t i = 0; i < count; ++i) sums[i] += static_cast<double>(static_cast<float>(from[i * apart]));
    }
  }
}

template <class T, class Sum>
std::unique_ptr<Kernel> make_sum_of(const SumWalk& walk, int threads) {
  const auto terms = std::make_shared<const TermPlaces>(walk.reduced);
  return loop_kernel([=](const KernelArgs& args) {
    constexpr std::int64_t kBlock = 64;
    const T* x = input<T>(args, 0);
    Sum* sum = output<Sum>(args, 0);
    const Walk<1>& kept = walk.kept;
    const std::int64_t line = kept.extent[kept.axes - 1], apart = kept.stride[kept.axes - 1][0];
    const std::int64_t blocks = (line + kBlock - 1) / kBlock, lines = line == 0 ? 0 : kept.count / line;
    const std::int64_t grain = rows_per_thread(std::min(line, kBlock) * walk.reduced.count);
    parallel_for(threads, lines * blocks, grain, [&](std::int64_t begin, std::int64_t end) {
      double sums[kBlock];
      for (std::int64_t block = begin; block < end; ++block) {
        const std::int64_t first = block % blocks * kBlock, count = std::min(kBlock, line - first);
        const std::int64_t output = block / blocks * line + first;
        add_terms(*terms, x + kept.place(output).at[0], count, apart, sums);
        for (std::int64_t i = 0; i < count; ++i) sum[output + i] = Sum(static_cast<float>(sums[i]));
      }
    });
  });
}

std::unique_ptr<Kernel> make_sum_to(const ops::SumTo& op, const KernelSpecs& specs) {
  const SumWalk walk(specs.inputs[0].shape, specs.outputs[0].shape);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return op.per_row ? make_sum_of<T, T>(walk, specs.threads) : make_sum_of<T, float>(walk, specs.threads);
  });
}

std::unique_ptr<Kernel> make_max_to(const ops::MaxTo& op, const KernelSpecs& specs) {
  const SumWalk walk(specs.inputs[0].shape, specs.outputs[0].shape);
  const auto terms = std::make_shared<const TermPlaces>(walk.reduced);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return loop_kernel([walk, terms, threads = specs.threads](const KernelArgs& args) {
      const T* x = input<T>(args, 0);
      T* y = output<T>(args, 0);
      parallel_for(threads, walk.kept.count, rows_per_thread(walk.reduced.count),
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t i = begin; i < end; ++i) {
                       const T* first = x + walk.kept.place(i).at[0];
                       auto largest = static_cast<float>(*first);
                       for (const std::int64_t start : terms->starts) {
                         const T* from = first + start;
                         for (std::int64_t term = 0; term < terms->stretch; ++term, from += terms->step) {
                           largest = scalar::Maximum()(largest, static_cast<float>(*from));
                         }
                       }
                       y[i] = T(largest);
                     }
                   });
    });
  });
}

}  // namespace

void add_sum_to_kernels(KernelRegistry& registry) {
  registry.add<ops::SumTo>(make_sum_to);
  registry.add<ops::MaxTo>(make_max_to);
}

}  // namespace mirrortrain::cpu
