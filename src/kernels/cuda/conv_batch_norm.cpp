#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "device/cuda/cuda_stream.h"
#include "kernels/cuda/batch_norm_of_sums.h"
#include "kernels/cuda/convolution.h"
#include "kernels/cuda/custom_kernels.h"
#include "kernels/cuda/libraries.h"
#include "kernels/cuda/merge.h"
#include "kernels/cuda/merge_statistics.h"
#include "kernels/cuda/trial.h"
#include "kernels/cuda/weight_forms.h"

namespace mirrortrain::cuda {
namespace {

/// How many plans with sums are measured for a convolution: each is compiled for it, which takes up to a second.
constexpr std::size_t kMostCompiled = 2;

/// Plans of convolutions that also sum their output's channels, where these were measured to be faster than sums in a
/// pass of their own; by problem. For one lane.
struct PlansWithSums {
  std::map<std::string, std::optional<CudnnPlan>> chosen;
  bool has_reported = false;
};

/// The convolution of a Conv2dBatchNorm, by itself.
KernelSpecs of_convolution(const KernelSpecs& specs) {
  constexpr auto kInputs = static_cast<std::ptrdiff_t>(Conv2dBatchNorm::kOfConvolution);
  KernelSpecs conv;
  conv.inputs.assign(specs.inputs.begin(), specs.inputs.begin() + kInputs);
  conv.input_present.assign(specs.input_present.begin(), specs.input_present.begin() + kInputs);
  conv.outputs = {specs.outputs.back()};
  conv.threads = specs.threads;
  return conv;
}

/// Its normalization.
KernelSpecs of_norm(const KernelSpecs& specs) {
  constexpr auto kFirst = static_cast<std::ptrdiff_t>(Conv2dBatchNorm::kOfConvolution);
  KernelSpecs norm;
  norm.inputs = {specs.outputs.back()};
  norm.input_present = {true};
  norm.inputs.insert(norm.inputs.end(), specs.inputs.begin() + kFirst, specs.inputs.end());
  norm.input_present.insert(norm.input_present.end(), specs.input_present.begin() + kFirst, specs.input_present.end());
  norm.outputs.assign(specs.outputs.begin(), specs.outputs.end() - 1);
  norm.threads = specs.threads;
  return norm;
}

std::unique_ptr<Kernel> make_norm(const Conv2dBatchNorm& op, const KernelSpecs& specs) {
  KernelRegistry own("cuda");
  add_custom_kernels(own);
  if (op.of_residual) return own.make(BatchNormOfResidual(op.norm), specs);
  return own.make(op.norm, specs);
}

/// A convolution and its normalization, either one after the other as by themselves, or with sums that cuDNN makes
/// where it stores the convolution's output.
class ConvolutionWithNorm : public Kernel {
 public:
  ConvolutionWithNorm(const Conv2dBatchNorm& op, const KernelSpecs& specs, std::shared_ptr<Cudnn> cudnn,
                      PlansWithSums& plans)
      : cudnn_(std::move(cudnn)),
        conv_(make_convolution(op, of_convolution(specs), cudnn_)),
        norm_(make_norm(op, of_norm(specs))),
        norm_of_sums_(op.norm, specs.outputs.back()),
        norm_inputs_(of_norm(specs).inputs),
        channels_(specs.outputs.back().shape.back()) {
    // A described GPU measures nothing.
    const bool has_rows = specs.inputs[0].elements() > 0 && specs.outputs.back().elements() > 0;
    if (has_rows && cudnn_->choices() != nullptr) choose(op, of_convolution(specs), plans);
  }

  std::size_t workspace_bytes() const override { return with_sums_ ? bytes_with_sums(*with_sums_) : bytes_apart(); }

  std::optional<DerivedForm> derived_form(std::size_t input) const override {
    return input < Conv2dBatchNorm::kOfConvolution ? conv_->derived_form(input) : std::nullopt;
  }

  void enqueue(Stream& stream, const KernelArgs& args) override {
    TensorView& convolved = norm_inputs_[0];
    convolved.data = args.outputs.back().data != nullptr ? args.outputs.back().data : args.outputs[0].data;
    for (std::size_t i = 1; i < norm_inputs_.size(); ++i) {
      norm_inputs_[i].data = args.inputs[Conv2dBatchNorm::kOfConvolution + i - 1].data;
    }
    KernelArgs norm = args;
    norm.inputs = norm_inputs_;
    norm.outputs = args.outputs.first(Conv2dBatchNorm::kOfNorm);
    if (with_sums_) {
      void* const pointers[] = {args.inputs[0].data, args.inputs[1].data, convolved.data, args.inputs[2].data};
      return enqueue_with_sums(stream, *with_sums_, pointers, norm);
    }
    KernelArgs conv = args;
    conv.inputs = args.inputs.first(Conv2dBatchNorm::kOfConvolution);
    conv.outputs = {&convolved, 1};
    conv_->enqueue(stream, conv);
    norm_->enqueue(stream, norm);
  }

 private:
  std::size_t bytes_apart() const { return std::max(conv_->workspace_bytes(), norm_->workspace_bytes()); }

  /// The two vectors of sums, then what the plan and the normalization use one after the other.
  std::size_t bytes_of_vector() const { return padded(static_cast<std::size_t>(channels_) * sizeof(float)); }
  std::size_t bytes_with_sums(const CudnnPlan& plan) const {
    return 2 * bytes_of_vector() + std::max(plan.workspace_bytes(), norm_of_sums_.workspace_bytes());
  }

  /// `tensors`: x, w, y, and the bias or null. `norm`: the normalization's arguments, with the whole workspace.
  void enqueue_with_sums(Stream& stream, CudnnPlan& plan, std::span<void* const, 4> tensors, KernelArgs norm) const {
    std::byte* const sums = norm.workspace;
    std::byte* const squares = sums + bytes_of_vector();
    norm.workspace = squares + bytes_of_vector();
    stream.zero(sums, 2 * bytes_of_vector());  // which the plan's kernel adds to
    // With a bias, the product before it is virtual.
    void* const with_bias[] = {tensors[0], tensors[1], tensors[2], tensors[3], nullptr, sums, squares};
    void* const without[] = {tensors[0], tensors[1], tensors[2], sums, squares};
    plan.enqueue(*cudnn_, native(stream),
                 tensors[3] == nullptr ? std::span<void* const>(without) : std::span<void* const>(with_bias),
                 norm.workspace);
    norm_of_sums_.enqueue(stream, norm, reinterpret_cast<const float*>(sums), reinterpret_cast<const float*>(squares));
  }

  /// Takes a plan with sums where it is measured to be faster up to the statistics; what follows is the same.
  void choose(const Conv2dBatchNorm& op, const KernelSpecs& conv, PlansWithSums& known) {
    const Convolution<2> c(op, conv.inputs[0], conv.inputs[1].shape, conv.outputs[0].shape);
    CudnnGraph graph;
    const ConvolutionTensors tensors = add_convolution(graph, c, conv.input_present[2], false);
    const std::string problem = graph.problem() + "sums of y";
    if (const auto before = known.chosen.find(problem); before != known.chosen.end()) {
      if (before->second) with_sums_.emplace(before->second->another());
      return;
    }
    std::vector<CudnnPlan> plans = plans_of(graph, tensors, c, known);
    Candidates candidates;
    candidates.operand_bytes = {bytes(conv.inputs[0]), bytes(conv.inputs[1]), bytes(conv.outputs[0]),
                                conv.input_present[2] ? bytes(conv.inputs[2]) : 0, bytes_of_vector()};
    candidates.workspace_bytes = {bytes_apart()};
    for (const CudnnPlan& plan : plans) candidates.workspace_bytes.push_back(bytes_with_sums(plan));
    candidates.enqueue = [&](std::size_t i, CudaStream& stream, std::span<void* const> operands, std::byte* workspace) {
      if (i > 0) {
        enqueue_with_sums(stream, plans[i - 1], operands.first<4>(), statistics(operands, workspace));
      } else {
        enqueue_apart(stream, conv, operands, workspace);
      }
    };
    const std::size_t fastest = choose_by_trial(*cudnn_->choices(), problem, cudnn_->gpu(), candidates);
    if (fastest > 0) with_sums_.emplace(plans[fastest - 1].another());
    known.chosen.emplace(problem, fastest > 0 ? std::optional(plans[fastest - 1].another()) : std::nullopt);
  }

  /// None where cuDNN has none; the log then says why, once.
  std::vector<CudnnPlan> plans_of(CudnnGraph& graph, const ConvolutionTensors& tensors, const Convolution<2>& c,
                                  PlansWithSums& known) const {
    try {
      const TensorId sums = graph.result(c.bias), squares = graph.result(c.bias);
      graph.channel_sums(tensors.y, sums, squares);
      return graph.plans(*cudnn_, kMostCompiled, true);
    } catch (const Error& error) {
      const auto& notice = cudnn_->options().notice;
      if (notice && !std::exchange(known.has_reported, true)) {
        notice(
            fmt::format("cuda:{}: cuDNN compiles no convolution in bfloat16 that leaves the sums of a batch normalization, "
                        "for {} channels of {} x {} and perhaps for others: another kernel sums them. It needs NVRTC, "
                        "libnvrtc.so, for it ({})",
                        cudnn_->gpu(), c.y[1], c.y[2], c.y[3], error.what()));
      }
      return {};
    }
  }

  /// The arguments of a normalization that ends with its statistics, of measured operands: without gamma, and with
  /// moving statistics of zeros that nobody writes.
  KernelArgs statistics(std::span<void* const> operands, std::byte* workspace) {
    for (TensorView& input : norm_inputs_) input.data = nullptr;
    norm_inputs_[0].data = static_cast<std::byte*>(operands[2]);
    norm_inputs_[3].data = norm_inputs_[4].data = static_cast<std::byte*>(operands[4]);
    KernelArgs args;
    args.inputs = norm_inputs_;
    args.outputs = kNoOutputs;
    args.workspace = workspace;
    return args;
  }

  void enqueue_apart(Stream& stream, const KernelSpecs& conv, std::span<void* const> operands, std::byte* workspace) {
    std::vector<TensorView> inputs = conv.inputs, outputs = conv.outputs;
    inputs[0].data = static_cast<std::byte*>(operands[0]);
    inputs[1].data = static_cast<std::byte*>(operands[1]);
    inputs[2].data = static_cast<std::byte*>(operands[3]);
    outputs[0].data = static_cast<std::byte*>(operands[2]);
    conv_->enqueue(stream, {.inputs = inputs, .outputs = outputs, .workspace = workspace});
    norm_->enqueue(stream, statistics(operands, workspace));
  }

  /// Of a convolution's tensor, in the dtype of its images: its weights are read in derived forms.
  static std::size_t bytes(const TensorView& tensor) {
    return static_cast<std::size_t>(tensor.elements()) * size_of(DType::kBfloat16);
  }

  inline static const TensorView kNoOutputs[Conv2dBatchNorm::kOfNorm] = {};

  std::shared_ptr<Cudnn> cudnn_;
  std::unique_ptr<Kernel> conv_, norm_;
  BatchNormOfSums norm_of_sums_;
  std::vector<TensorView> norm_inputs_;
  std::int64_t channels_;
  std::optional<CudnnPlan> with_sums_;  ///< absent: the two one after the other
};

}  // namespace

void add_conv_batch_norm_kernels(KernelRegistry& registry, std::shared_ptr<Cudnn> cudnn) {
  registry.add<Conv2dBatchNorm>([cudnn, plans = std::make_shared<PlansWithSums>()](
                                    const Conv2dBatchNorm& op, const KernelSpecs& specs) -> std::unique_ptr<Kernel> {
    return std::make_unique<ConvolutionWithNorm>(op, specs, cudnn, *plans);
  });
}

}  // namespace mirrortrain::cuda
