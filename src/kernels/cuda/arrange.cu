#include "kernels/cuda/custom_kernels.h"
#include "kernels/cuda/pack.h"
#include "kernels/cuda/stream_kernel.h"
#include "kernels/cuda/walk.h"
#include "kernels/scalar/arrange.h"

namespace mirrortrain::cuda {
namespace {

using scalar::CopyWalk;

/// `Elements`: one of them, or a pack.
template <class Elements, class T>
__global__ void __launch_bounds__(kBlock) copy_elements(Walk<2> walk, const T* from, T* to) {
  each_place(walk, [&](const auto& place) {
    *reinterpret_cast<Elements*>(to + place.at[1]) = *reinterpret_cast<const Elements*>(from + place.at[0]);
  });
}

template <class T>
void copy(Stream& stream, const Walk<2>& walk, const T* from, T* to) {
  using Packed = Pack<T, kPackOf<T>>;
  if (const Walk<2> packs = walk.in_packs(kPackOf<T>); packs.axes > 0 && in_packs(from, to)) {
    launch(stream, blocks_for(packs.count), kBlock, 0, copy_elements<Packed, T>, packs, from, to);
  } else {
    launch(stream, blocks_for(walk.count), kBlock, 0, copy_elements<T, T>, walk, from, to);
  }
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
        const CopyWalk& one = copies[i];
        copy(stream, one.walk, input<T>(args, i) + one.from_first, y + one.to_first);
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
