// Whether a convolution leaves the sums of its normalization is measured, and remembered.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "device/cuda/cuda_stream.h"
#include "kernels/cuda/conv_then_norm.h"
#include "kernels/cuda/conv_with_sums.h"
#include "kernels/cuda/convolution.h"
#include "kernels/cuda/libraries.h"
#include "kernels/cuda/trial.h"

namespace mirrortrain::cuda {
namespace {

/// How many plans with sums are measured for a convolution: each is compiled for it, which takes up to seven seconds.
constexpr std::size_t kMostCompiled = 2;

/// Which convolutions have no plan with sums. The log says so once, when the first of them runs: by then all that a
/// program has are made.
class WithoutPlan {
 public:
  void add(const Cudnn& cudnn, const TensorView& y, std::string_view reason) {
    if (count_++ > 0) return;
    // cuDNN's status where it finds no NVRTC, which it compiles with.
    constexpr std::string_view kMissing = "RUNTIME_PREREQUISITE_MISSING";
    const bool lacks_nvrtc = reason.find(kMissing) != std::string_view::npos;
    first_ = fmt::format("the first has an output of {} ({}){}", y.shape.text(), reason,
                         lacks_nvrtc ? "; it compiles with NVRTC: install libnvrtc.so" : "");
    gpu_ = cudnn.gpu();
  }

  void report(const Cudnn& cudnn) {
    if (count_ == 0 || std::exchange(is_reported_, true) || !cudnn.options().notice) return;
    cudnn.options().notice(
        fmt::format("cuda:{}: cuDNN compiles no kernel that leaves the sums of a batch normalization for {} distinct "
                    "convolution{} in bfloat16, so that others sum: {}",
                    gpu_, count_, count_ == 1 ? "" : "s", first_));
  }

 private:
  int count_ = 0, gpu_ = -1;
  std::string first_;
  bool is_reported_ = false;
};

/// What is known of convolutions with sums, by problem. For one lane.
struct KnownPlans {
  std::map<std::string, std::optional<CudnnPlan>> fastest;  ///< none: sums in a pass of their own
  WithoutPlan without;
};

std::unique_ptr<Kernel> make_apart(const Conv2dBatchNorm& op, const KernelSpecs& specs,
                                   const std::shared_ptr<Cudnn>& cudnn) {
  return std::make_unique<ConvThenNorm>(op, specs, make_convolution(op, specs_of_convolution(specs), cudnn),
                                        make_norm(op, specs));
}

/// One after the other, and the first to run reports what has no plan.
class Reporting : public Kernel {
 public:
  Reporting(std::unique_ptr<Kernel> kernel, std::shared_ptr<Cudnn> cudnn, std::shared_ptr<KnownPlans> known)
      : kernel_(std::move(kernel)), cudnn_(std::move(cudnn)), known_(std::move(known)) {}
  std::size_t workspace_bytes() const override { return kernel_->workspace_bytes(); }
  std::optional<DerivedForm> derived_form(std::size_t input) const override { return kernel_->derived_form(input); }
  void enqueue(Stream& stream, const KernelArgs& args) override {
    known_->without.report(*cudnn_);
    kernel_->enqueue(stream, args);
  }

 private:
  std::unique_ptr<Kernel> kernel_;
  std::shared_ptr<Cudnn> cudnn_;
  std::shared_ptr<KnownPlans> known_;
};

/// In the convolution's images' dtype: its weights are read in derived forms.
std::size_t bytes_of(const TensorView& tensor) {
  return static_cast<std::size_t>(tensor.elements()) * size_of(DType::kBfloat16);
}

/// The fastest of kernels for the op up to its statistics; what follows is the same for all.
std::size_t fastest_of(const std::vector<std::unique_ptr<Kernel>>& kernels, const std::string& problem,
                       const KernelSpecs& specs, Cudnn& cudnn) {
  // Operands: x; kernel; bias; the convolution's output; zeros as moving statistics. No gamma, beta, residual or y.
  const std::size_t vector = static_cast<std::size_t>(specs.outputs.back().shape.back()) * sizeof(float);
  Candidates candidates;
  candidates.operand_bytes = {bytes_of(specs.inputs[0]), bytes_of(specs.inputs[1]),
                              specs.input_present[2] ? bytes_of(specs.inputs[2]) : 0, bytes_of(specs.outputs.back()),
                              vector};
  for (const auto& kernel : kernels) candidates.workspace_bytes.push_back(kernel->workspace_bytes());
  candidates.enqueue = [&](std::size_t i, CudaStream& stream, std::span<void* const> operands, std::byte* workspace) {
    constexpr std::size_t kMovingMean = Conv2dBatchNorm::kOfConvolution + 2;
    std::vector<TensorView> inputs = specs.inputs, outputs = specs.outputs;
    const auto at = [&](std::size_t operand) { return static_cast<std::byte*>(operands[operand]); };
    for (std::size_t input = 0; input < Conv2dBatchNorm::kOfConvolution; ++input) inputs[input].data = at(input);
    inputs[kMovingMean].data = inputs[kMovingMean + 1].data = at(4);
    outputs.back().data = at(3);
    kernels[i]->enqueue(stream, {.inputs = inputs, .outputs = outputs, .workspace = workspace});
  };
  return choose_by_trial(*cudnn.choices(), problem, cudnn.gpu(), candidates);
}

/// The plan that is measured to be faster than sums in a pass of their own, if there is one.
std::optional<CudnnPlan> measured(const Conv2dBatchNorm& op, const KernelSpecs& specs, const std::string& problem,
                                  const std::shared_ptr<Cudnn>& cudnn, WithoutPlan& without) {
  std::vector<CudnnPlan> plans;
  try {
    plans = plans_with_sums(op, specs, *cudnn, kMostCompiled);
  } catch (const Error& error) {
    without.add(*cudnn, specs.outputs.back(), error.what());
    return std::nullopt;
  }
  std::vector<std::unique_ptr<Kernel>> kernels;
  kernels.push_back(make_apart(op, specs, cudnn));
  for (const CudnnPlan& plan : plans) kernels.push_back(make_with_sums(op, specs, cudnn, plan.another()));
  const std::size_t fastest = fastest_of(kernels, problem, specs, *cudnn);
  return fastest > 0 ? std::optional(std::move(plans[fastest - 1])) : std::nullopt;
}

std::unique_ptr<Kernel> make(const Conv2dBatchNorm& op, const KernelSpecs& specs, const std::shared_ptr<Cudnn>& cudnn,
                             const std::shared_ptr<KnownPlans>& known) {
  // A described GPU measures nothing.
  const bool has_rows = specs.inputs[0].elements() > 0 && specs.outputs.back().elements() > 0;
  if (!has_rows || cudnn->choices() == nullptr) return make_apart(op, specs, cudnn);
  const std::string problem = problem_with_sums(op, specs);
  auto found = known->fastest.find(problem);
  if (found == known->fastest.end()) {
    found = known->fastest.emplace(problem, measured(op, specs, problem, cudnn, known->without)).first;
  }
  if (found->second) return make_with_sums(op, specs, cudnn, found->second->another());
  return std::make_unique<Reporting>(make_apart(op, specs, cudnn), cudnn, known);
}

}  // namespace

void add_conv_batch_norm_kernels(KernelRegistry& registry, std::shared_ptr<Cudnn> cudnn) {
  registry.add<Conv2dBatchNorm>([cudnn, known = std::make_shared<KnownPlans>()](
                                    const Conv2dBatchNorm& op, const KernelSpecs& specs) -> std::unique_ptr<Kernel> {
    return make(op, specs, cudnn, known);
  });
}

}  // namespace mirrortrain::cuda
