#include "kernels/cuda/depthwise.h"
#include "kernels/cuda/depthwise_multiplied.h"
#include "kernels/cuda/depthwise_slides.h"
#include "kernels/cuda/stream_kernel.h"
#include "kernels/cuda/weight_forms.h"

namespace mirrortrain::cuda {
namespace {

class Sliding : public Kernel {
 public:
  /// `filters`: of each channel. `backward`: for the gradient of the image.
  Sliding(const Slide& slide, int filters, bool backward, const KernelSpecs& specs, ops::ActivationKind activation)
      : slide_(slide),
        filters_(filters),
        backward_(backward),
        kernel_(specs.inputs[1]),
        dtype_(specs.inputs[0].dtype),
        relu_(activation == ops::ActivationKind::kRelu),
        activation_(relu_ ? ops::ActivationKind::kLinear : activation, specs.outputs[0]) {
    if (specs.inputs.size() > 2 && specs.input_present[2]) bias_ = specs.inputs[2];
  }

  std::optional<DerivedForm> derived_form(std::size_t input) const override {
    if (input == 1) return depthwise_form(kernel_, dtype_);
    if (input == 2 && bias_) return dtype_form(*bias_, dtype_);
    return std::nullopt;
  }
  void enqueue(Stream& stream, const KernelArgs& args) override {
    dtype_ == DType::kFloat32 ? enqueue_as<float>(stream, args) : enqueue_as<bfloat16>(stream, args);
    activation_.enqueue(stream, args);
  }

 private:
  template <class T>
  void enqueue_as(Stream& stream, const KernelArgs& args) const {
    const T *from = input<T>(args, 0), *filter = input<T>(args, 1), *bias = bias_ ? input<T>(args, 2) : nullptr;
    T* const to = output<T>(args, 0);
    with_pack<T>(slide_.channels % kPackOf<T> == 0 && in_packs(from, filter, bias, to), [&](auto pack) {
      constexpr int kPack = pack.value;
      if (filters_ == 1) return enqueue_slide<kPack>(stream, slide_, from, filter, bias, relu_, to);
      const std::int64_t packs =
          slide_.rows * slide_.lines.positions * slide_.columns.positions * slide_.channels / kPack;
      if (backward_) {
        launch(stream, blocks_for(packs), kBlock, 0, slide_filters_back<kPack, T>, slide_, filters_, from, filter, to);
      } else {
        launch(stream, blocks_for(packs), kBlock, 0, slide_filters<kPack, T>, slide_, filters_, from, filter, bias,
               relu_, to);
      }
    });
  }

  Slide slide_;
  int filters_;
  bool backward_;
  TensorView kernel_;
  std::optional<TensorView> bias_;
  DType dtype_;
  bool relu_;
  ActivationPass activation_;
};

/// Along the image's axis `i`, counted from the height.
SlideAxis axis_of(const ops::Conv2dAttributes& op, const Shape& image, const Shape& kernel, const Shape& output,
                  std::size_t i, bool backward) {
  const int in = static_cast<int>(image[i + 1]), out = static_cast<int>(output[i + 1]),
            taps = static_cast<int>(kernel[i]), stride = static_cast<int>(op.strides[i]),
            dilation = static_cast<int>(op.dilation_rate[i]),
            pad = static_cast<int>(ops::window_axis(in, taps, stride, dilation, op.padding).pad_before);
  return backward ? SlideAxis{in, out, taps, 1, stride, pad, -dilation}
                  : SlideAxis{out, in, taps, stride, 1, -pad, dilation};
}

Slide slide_of(const ops::Conv2dAttributes& op, const Shape& image, const Shape& kernel, const Shape& output,
               bool backward) {
  return {image[0], backward ? op.groups : kernel[3], axis_of(op, image, kernel, output, 0, backward),
          axis_of(op, image, kernel, output, 1, backward)};
}

}  // namespace

std::unique_ptr<Kernel> make_if_depthwise(const ops::Conv2d& op, const KernelSpecs& specs) {
  const Shape& kernel = specs.inputs[1].shape;
  if (!is_depthwise(op, kernel)) return nullptr;
  const Slide slide = slide_of(op, specs.inputs[0].shape, kernel, specs.outputs[0].shape, false);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) -> std::unique_ptr<Kernel> {
    return std::make_unique<Sliding>(slide, filters_of_channel(op, kernel), false, specs, op.activation);
  });
}

std::unique_ptr<Kernel> make_if_depthwise(const ops::Conv2dInputGradient& op, const KernelSpecs& specs) {
  const Shape& kernel = specs.inputs[1].shape;
  if (!is_depthwise(op, kernel)) return nullptr;
  const Slide slide = slide_of(op, specs.outputs[0].shape, kernel, specs.inputs[0].shape, true);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) -> std::unique_ptr<Kernel> {
    return std::make_unique<Sliding>(slide, filters_of_channel(op, kernel), true, specs, ops::ActivationKind::kLinear);
  });
}

}  // namespace mirrortrain::cuda
