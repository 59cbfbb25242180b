#include "graph/ops/conv.h"

#include <algorithm>

#include "device/cuda/cuda_stream.h"
#include "kernels/cuda/convolution.h"
#include "kernels/cuda/cudnn_graph.h"
#include "kernels/cuda/depthwise.h"
#include "kernels/cuda/libraries.h"
#include "kernels/cuda/matrix_passes.h"
#include "kernels/cuda/merge.h"
#include "kernels/cuda/weight_forms.h"

namespace mirrortrain::cuda {
namespace {

template <std::size_t kAxes>
class Forward : public Kernel {
 public:
  Forward(const ops::Conv<kAxes>& op, const KernelSpecs& specs, std::shared_ptr<Cudnn> cudnn)
      : kernel_(specs.inputs[1]),
        dtype_(specs.inputs[0].dtype),
        with_bias_(specs.inputs.size() > 2 && specs.input_present[2]),
        with_relu_(with_bias_ && op.activation == ops::ActivationKind::kRelu),
        cudnn_(std::move(cudnn)),
        plan_(make_plan(op, specs)),
        activation_(with_relu_ ? ops::ActivationKind::kLinear : op.activation, specs.outputs[0]) {
    if (with_bias_) bias_ = specs.inputs[2];
  }

  std::size_t workspace_bytes() const override { return plan_.workspace_bytes(); }

  std::optional<DerivedForm> derived_form(std::size_t input) const override {
    if (input == 1) return filter_form(kernel_, dtype_);
    // cuDNN adds a bias in the images' dtype, as Keras does.
    if (input == 2 && with_bias_) return dtype_form(bias_, dtype_);
    return std::nullopt;
  }

  void enqueue(Stream& stream, const KernelArgs& args) override {
    void* const pointers[] = {args.inputs[0].data, args.inputs[1].data, args.outputs[0].data,
                              with_bias_ ? args.inputs[2].data : nullptr};
    plan_.enqueue(*cudnn_, native(stream), std::span(pointers), args.workspace);
    activation_.enqueue(stream, args);
  }

 private:
  CudnnPlan make_plan(const ops::Conv<kAxes>& op, const KernelSpecs& specs) const {
    const Convolution<kAxes> c(op, specs.inputs[0], kernel_.shape, specs.outputs[0].shape);
    return plan_for(op, c, *cudnn_, [&](CudnnGraph& graph) { add_convolution(graph, c, with_bias_, with_relu_); });
  }

  TensorView kernel_, bias_;
  DType dtype_;
  bool with_bias_, with_relu_;
  std::shared_ptr<Cudnn> cudnn_;
  CudnnPlan plan_;
  ActivationPass activation_;
};

template <std::size_t kAxes>
class InputGradient : public Kernel {
 public:
  InputGradient(const ops::ConvInputGradient<kAxes>& op, const KernelSpecs& specs, std::shared_ptr<Cudnn> cudnn)
      : kernel_(specs.inputs[1]), cudnn_(std::move(cudnn)), plan_(make_plan(op, specs)) {
    dtype_ = specs.inputs[0].dtype;
  }

  std::size_t workspace_bytes() const override { return plan_.workspace_bytes(); }
  std::optional<DerivedForm> derived_form(std::size_t input) const override {
    return input == 1 ? std::optional(filter_form(kernel_, dtype_)) : std::nullopt;
  }
  void enqueue(Stream& stream, const KernelArgs& args) override {
    void* const pointers[] = {args.inputs[0].data, args.inputs[1].data, args.outputs[0].data};
    plan_.enqueue(*cudnn_, native(stream), std::span(pointers), args.workspace);
  }

 private:
  CudnnPlan make_plan(const ops::ConvInputGradient<kAxes>& op, const KernelSpecs& specs) const {
    const Convolution<kAxes> c(op, specs.outputs[0], kernel_.shape, specs.inputs[0].shape);
    return plan_for(op, c, *cudnn_, [&](CudnnGraph& graph) {
      const TensorId dy = graph.tensor(c.dtype, c.y), w = graph.tensor(c.dtype, c.w), dx = graph.tensor(c.dtype, c.x);
      graph.convolution_data_gradient(c.window, dy, w, dx);
    });
  }

  TensorView kernel_;
  DType dtype_ = DType::kFloat32;
  std::shared_ptr<Cudnn> cudnn_;
  CudnnPlan plan_;
};

/// cuDNN's gradient is [out, h, w, in] in the images' dtype (sums are in float32). A separate pass converts it to
/// another order or dtype if needed.
template <std::size_t kAxes>
class WeightGradient : public Kernel {
 public:
  WeightGradient(const ops::ConvWeightGradient<kAxes>& op, const KernelSpecs& specs, std::shared_ptr<Cudnn> cudnn)
      : dtype_(specs.inputs[0].dtype),
        is_ohwi_(dynamic_cast<const Conv2dOhwiWeightGradient*>(&op) != nullptr),
        out_(op.kernel_shape.back()),
        taps_(op.kernel_shape.elements() / out_),
        positions_(specs.inputs[1].elements() / out_),
        cudnn_(std::move(cudnn)),
        plan_(make_plan(op, specs)) {}

  std::size_t workspace_bytes() const override {
    const std::size_t gradient = is_final() ? 0 : static_cast<std::size_t>(taps_ * out_) * size_of(dtype_);
    return std::max(padded(plan_.workspace_bytes()) + gradient, column_sums_workspace(positions_, out_));
  }

  void enqueue(Stream& stream, const KernelArgs& args) override {
    const TensorView &x = args.inputs[0], &dy = args.inputs[1];
    if (std::byte* const kernel = args.outputs[0].data) {
      std::byte* const gradient = is_final() ? kernel : args.workspace + padded(plan_.workspace_bytes());
      void* const pointers[] = {x.data, dy.data, gradient};
      plan_.enqueue(*cudnn_, native(stream), std::span(pointers), args.workspace);
      if (!is_ohwi_) {
        transpose(stream, out_, taps_, dtype_, gradient, DType::kFloat32, kernel);
      } else if (!is_final()) {
        to_float32(stream, out_ * taps_, gradient, kernel);
      }
    }
    if (args.outputs.size() > 1 && args.outputs[1].data != nullptr) {
      column_sums(stream, positions_, out_, dtype_, dy.data, args.outputs[1].as<float>(), args.workspace);
    }
  }

 private:
  CudnnPlan make_plan(const ops::ConvWeightGradient<kAxes>& op, const KernelSpecs& specs) const {
    const Convolution<kAxes> c(op, specs.inputs[0], op.kernel_shape, specs.inputs[1].shape);
    return plan_for(op, c, *cudnn_, [&](CudnnGraph& graph) {
      const TensorId x = graph.tensor(c.dtype, c.x), dy = graph.tensor(c.dtype, c.y), dw = graph.tensor(c.dtype, c.w);
      graph.convolution_filter_gradient(c.window, x, dy, dw);
    });
  }

  /// Whether cuDNN's result needs no conversion.
  bool is_final() const { return is_ohwi_ && dtype_ == DType::kFloat32; }

  DType dtype_;
  bool is_ohwi_;
  std::int64_t out_, taps_, positions_;  ///< taps_: weights per filter; positions_: rows x height x width of the output
  std::shared_ptr<Cudnn> cudnn_;
  CudnnPlan plan_;
};

/// cuDNN's kernels, or custom ones where each channel has one filter.
template <class OpType, class Made>
auto maker(const std::shared_ptr<Cudnn>& cudnn) {
  return [library = for_rows<OpType, Made>(cudnn)](const OpType& op, const KernelSpecs& specs) {
    auto own = make_if_depthwise(op, specs);
    return own ? std::move(own) : library(op, specs);
  };
}

}  // namespace

std::unique_ptr<Kernel> make_convolution(const ops::Conv2d& op, const KernelSpecs& specs,
                                         const std::shared_ptr<Cudnn>& cudnn) {
  return maker<ops::Conv2d, Forward<2>>(cudnn)(op, specs);
}

void add_conv_kernels(KernelRegistry& registry, std::shared_ptr<Cudnn> cudnn) {
  registry.add<ops::Conv2d>(maker<ops::Conv2d, Forward<2>>(cudnn));
  registry.add<ops::Conv2dInputGradient>(maker<ops::Conv2dInputGradient, InputGradient<2>>(cudnn));
  registry.add<ops::Conv2dWeightGradient>(maker<ops::Conv2dWeightGradient, WeightGradient<2>>(cudnn));
  registry.add<Conv2dOhwiWeightGradient>(maker<Conv2dOhwiWeightGradient, WeightGradient<2>>(cudnn));
  registry.add<ops::Conv3d>(for_rows<ops::Conv3d, Forward<3>>(cudnn));
  registry.add<ops::Conv3dInputGradient>(for_rows<ops::Conv3dInputGradient, InputGradient<3>>(cudnn));
  registry.add<ops::Conv3dWeightGradient>(for_rows<ops::Conv3dWeightGradient, WeightGradient<3>>(cudnn));
}

}  // namespace mirrortrain::cuda
