#include "base/philox.h"
#include "graph/ops/elementwise.h"
#include "kernels/cuda/custom_kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/pack.h"
#include "kernels/cuda/stream_kernel.h"
#include "kernels/scalar/normal.h"

namespace mirrortrain::cuda {
namespace {

/// A thread makes the numbers of one counter.
__global__ void __launch_bounds__(kBlock) random_normal(std::int64_t rows, std::int64_t elements,
                                                        std::uint32_t random_stream, const StepParams* step, float* y) {
  const Philox philox = Philox::with_key(step->seed);
  const auto step_word = static_cast<std::uint32_t>(step->step);
  const std::int64_t counters = (elements + 3) / 4;
  for (std::int64_t number = grid_thread(); number < rows * counters; number += grid_threads()) {
    const Division place = divide(number, counters);
    const Philox::Words words =
        philox(static_cast<std::uint32_t>(place.rest), static_cast<std::uint32_t>(step->first_row + place.quotient),
               step_word, random_stream);
    const scalar::Normals a(words.word[0], words.word[1]), b(words.word[2], words.word[3]);
    const float numbers[] = {a.first, a.second, b.first, b.second};
    for (std::int64_t k = 0; k < 4 && place.rest * 4 + k < elements; ++k) {
      y[place.quotient * elements + place.rest * 4 + k] = numbers[k];
    }
  }
}

std::unique_ptr<Kernel> make_random_normal(const ops::RandomNormal& op, const KernelSpecs& specs) {
  const std::int64_t rows = specs.outputs[0].shape[0], elements = op.shape.elements();
  return stream_kernel([=, random_stream = op.stream](Stream& stream, const KernelArgs& args) {
    launch(stream, blocks_for(rows * ((elements + 3) / 4)), kBlock, 0, random_normal, rows, elements, random_stream,
           args.step, output<float>(args, 0));
  });
}

}  // namespace

void add_random_normal_kernels(KernelRegistry& registry) { registry.add<ops::RandomNormal>(make_random_normal); }

}  // namespace mirrortrain::cuda
