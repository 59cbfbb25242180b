#include "kernels/cuda/conv_with_sums.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "device/cuda/cuda_stream.h"
#include "kernels/cuda/batch_norm_of_sums.h"
#include "kernels/cuda/conv_then_norm.h"
#include "kernels/cuda/convolution.h"
#include "kernels/cuda/weight_forms.h"

namespace mirrortrain::cuda {
namespace {

Convolution<2> convolution_of(const Conv2dBatchNorm& op, const KernelSpecs& specs) {
  return Convolution<2>(op, specs.inputs[0], specs.inputs[1].shape, specs.outputs.back().shape);
}

class ConvWithSums : public Kernel {
 public:
  ConvWithSums(const Conv2dBatchNorm& op, const KernelSpecs& specs, std::shared_ptr<Cudnn> cudnn, CudnnPlan plan)
      : kernel_(specs.inputs[1]),
        dtype_(specs.inputs[0].dtype),
        channels_(specs.outputs.back().shape.back()),
        cudnn_(std::move(cudnn)),
        plan_(std::move(plan)),
        norm_(op.norm, specs.outputs.back()),
        args_(op, specs) {
    if (specs.input_present[2]) bias_ = specs.inputs[2];
  }

  std::size_t workspace_bytes() const override {
    return args_.bytes() + 2 * bytes_of_vector() + std::max(plan_.workspace_bytes(), norm_.workspace_bytes());
  }

  /// Those of cuDNN's other convolutions.
  std::optional<DerivedForm> derived_form(std::size_t input) const override {
    if (input == 1) return filter_form(kernel_, dtype_);
    return input == 2 && bias_ ? dtype_form(*bias_, dtype_) : std::nullopt;
  }

  void enqueue(Stream& stream, const KernelArgs& args) override {
    auto [convolution, norm] = args_.bind(args);
    std::byte* const sums = norm.workspace;
    std::byte* const squares = sums + bytes_of_vector();
    norm.workspace = squares + bytes_of_vector();  // the plan's, and then the normalization's
    stream.zero(sums, 2 * bytes_of_vector());      // which the plan's kernel adds to
    std::byte *const x = convolution.inputs[0].data, *const w = convolution.inputs[1].data,
                     *const y = convolution.outputs[0].data;
    if (bias_) {  // what comes before it is virtual
      void* const tensors[] = {x, w, y, convolution.inputs[2].data, nullptr, sums, squares};
      plan_.enqueue(*cudnn_, native(stream), tensors, norm.workspace);
    } else {
      void* const tensors[] = {x, w, y, sums, squares};
      plan_.enqueue(*cudnn_, native(stream), tensors, norm.workspace);
    }
    norm_.enqueue(stream, norm, reinterpret_cast<const float*>(sums), reinterpret_cast<const float*>(squares));
  }

 private:
  std::size_t bytes_of_vector() const { return padded(static_cast<std::size_t>(channels_) * sizeof(float)); }

  TensorView kernel_;
  std::optional<TensorView> bias_;
  DType dtype_;
  std::int64_t channels_;
  std::shared_ptr<Cudnn> cudnn_;
  CudnnPlan plan_;
  BatchNormOfSums norm_;
  ConvThenNormArgs args_;
};

}  // namespace

std::string problem_with_sums(const Conv2dBatchNorm& op, const KernelSpecs& specs) {
  CudnnGraph graph;
  add_convolution(graph, convolution_of(op, specs), specs.input_present[2], false);
  return graph.problem() + "sums of y";
}

std::vector<CudnnPlan> plans_with_sums(const Conv2dBatchNorm& op, const KernelSpecs& specs, const Cudnn& cudnn,
                                       std::size_t most) {
  const Convolution<2> c = convolution_of(op, specs);
  CudnnGraph graph;
  const ConvolutionTensors tensors = add_convolution(graph, c, specs.input_present[2], false);
  const TensorId sums = graph.result(c.bias), squares = graph.result(c.bias);
  graph.channel_sums(tensors.y, sums, squares);
  return graph.plans(cudnn, most, true);
}

std::unique_ptr<Kernel> make_with_sums(const Conv2dBatchNorm& op, const KernelSpecs& specs,
                                       std::shared_ptr<Cudnn> cudnn, CudnnPlan plan) {
  return std::make_unique<ConvWithSums>(op, specs, std::move(cudnn), std::move(plan));
}

}  // namespace mirrortrain::cuda
