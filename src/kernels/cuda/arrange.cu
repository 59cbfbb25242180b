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

/// One copy for each input; `with_zeros` where they leave gaps.
std::unique_ptr<Kernel> make_copies(const Op& op, const KernelSpecs& specs, const std::vector<CopyWalk>& copies,
                                    bool with_zeros = false) {
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return stream_kernel([=](Stream& stream, const KernelArgs& args) {
      T* y = output<T>(args, 0);
      if (with_zeros && args.outputs[0].bytes() > 0) stream.zero(args.outputs[0].data, args.outputs[0].bytes());
      for (std::size_t i = 0; i < copies.size(); ++i) {
        const CopyWalk& copy = copies[i];
        launch(stream, blocks_for(copy.walk.count), kBlock, 0, copy_elements<T>, copy.walk,
               input<T>(args, i) + copy.from_first, y + copy.to_first);
      }
    });
  });
}

std::unique_ptr<Kernel> make_pad(const ops::Pad& op, const KernelSpecs& specs) {
  return make_copies(op, specs, {scalar::copy_into(specs.inputs[0].shape, specs.outputs[0].shape, op.before)}, true);
}

std::unique_ptr<Kernel> make_crop(const ops::Crop& op, const KernelSpecs& specs) {
  return make_copies(op, specs, {scalar::copy_out_of(specs.inputs[0].shape, specs.outputs[0].shape, op.before)});
}

std::unique_ptr<Kernel> make_concatenate(const ops::Concatenate& op, const KernelSpecs& specs) {
  std::vector<Shape> shapes;
  for (const TensorView& input : specs.inputs) shapes.push_back(input.shape);
  return make_copies(op, specs, scalar::copies_joined(op, shapes, specs.outputs[0].shape));
}

std::unique_ptr<Kernel> make_transpose(const ops::Transpose& op, const KernelSpecs& specs) {
  return make_copies(op, specs, {scalar::copy_transposed(specs.inputs[0].shape, specs.outputs[0].shape, op.axes)});
}

}  // namespace

void add_arrange_kernels(KernelRegistry& registry) {
  registry.add<ops::Pad>(make_pad);
  registry.add<ops::Crop>(make_crop);
  registry.add<ops::Concatenate>(make_concatenate);
  registry.add<ops::Transpose>(make_transpose);
}

}  // namespace mirrortrain::cuda
