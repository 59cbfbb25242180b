#include "base/philox.h"
#include "graph/ops/elementwise.h"
#include "kernels/cpu/loops.h"
#include "kernels/cpu/registry.h"
#include "kernels/scalar/normal.h"

namespace mirrortrain::cpu {
namespace {

std::unique_ptr<Kernel> make_random_normal(const ops::RandomNormal& op, const KernelSpecs& specs) {
  const std::int64_t rows = specs.outputs[0].shape[0], elements = op.shape.elements();
  return loop_kernel([=, stream = op.stream, threads = specs.threads](const KernelArgs& args) {
    const Philox philox = Philox::with_key(args.step->seed);
    const auto step = static_cast<std::uint32_t>(args.step->step);
    float* const y = output<float>(args, 0);
    parallel_for(threads, rows, rows_per_thread(elements), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const auto in_batch = static_cast<std::uint32_t>(args.step->first_row + row);
        for (std::int64_t i = 0; i < elements; i += 4) {
          const Philox::Words words = philox(static_cast<std::uint32_t>(i / 4), in_batch, step, stream);
          const scalar::Normals a(words.word[0], words.word[1]), b(words.word[2], words.word[3]);
          const float numbers[] = {a.first, a.second, b.first, b.second};
          for (std::int64_t k = 0; k < 4 && i + k < elements; ++k) y[row * elements + i + k] = numbers[k];
        }
      }
    });
  });
}

}  // namespace

void add_random_normal_kernels(KernelRegistry& registry) { registry.add<ops::RandomNormal>(make_random_normal); }

}  // namespace mirrortrain::cpu
