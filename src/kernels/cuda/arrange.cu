#include "kernels/cuda/custom_kernels.h"
#include "kernels/cuda/stream_kernel.h"
#include "kernels/cuda/walk.h"
#include "kernels/scalar/arrange.h"

namespace mirrortrain::cuda {
namespace {

using scalar::CopyWalk;

template <class T>
__global__ void __launch_bounds__(kBlock) copy_elements(Walk<2> walk, const T* from, T* to) {
  each_place(walk, [&](const auto& place) { to[place.at[1]] = from[place.at[0]]; });
}

/// One copy for each input.
template <class ArrangeOp>
std::unique_ptr<Kernel> make_copies(const ArrangeOp& op, const KernelSpecs& specs) {
  const std::vector<CopyWalk> copies = scalar::copies_of(op, specs.inputs, specs.outputs[0].shape);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return stream_kernel([=](Stream& stream, const KernelArgs& args) {
      T* y = output<T>(args, 0);
      if (scalar::kLeavesGaps<ArrangeOp> && args.outputs[0].bytes() > 0)
        stream.zero(args.outputs[0].data, args.outputs[0].bytes());
      for (std::size_t i = 0; i < copies.size(); ++i) {
        const CopyWalk& copy = copies[i];
        launch(stream, blocks_for(copy.walk.count), kBlock, 0, copy_elements<T>, copy.walk,
               input<T>(args, i) + copy.from_first, y + copy.to_first);
      }
    });
  });
}

}  // namespace

void add_arrange_kernels(KernelRegistry& registry) {
  registry.add<ops::Pad>(make_copies<ops::Pad>);
  registry.add<ops::Crop>(make_copies<ops::Crop>);
  registry.add<ops::Concatenate>(make_copies<ops::Concatenate>);
  registry.add<ops::Transpose>(make_copies<ops::Transpose>);
  registry.add<ops::Flip>(make_copies<ops::Flip>);
}

}  // namespace mirrortrain::cuda
