#include "kernels/cuda/conv_then_norm.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "kernels/cuda/custom_kernels.h"
#include "kernels/cuda/merge.h"
#include "kernels/cuda/weight_forms.h"

namespace mirrortrain::cuda {

KernelSpecs specs_of_convolution(const KernelSpecs& specs) {
  constexpr auto kInputs = static_cast<std::ptrdiff_t>(Conv2dBatchNorm::kOfConvolution);
  KernelSpecs conv;
  conv.inputs.assign(specs.inputs.begin(), specs.inputs.begin() + kInputs);
  conv.input_present.assign(specs.input_present.begin(), specs.input_present.begin() + kInputs);
  conv.outputs = {specs.outputs.back()};
  conv.threads = specs.threads;
  return conv;
}

KernelSpecs specs_of_norm(const KernelSpecs& specs) {
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
  KernelRegistry custom("cuda");
  add_batch_norm_kernels(custom);
  if (op.of_residual) return custom.make(BatchNormOfResidual(op.norm), specs_of_norm(specs));
  return custom.make(op.norm, specs_of_norm(specs));
}

ConvThenNormArgs::ConvThenNormArgs(const Conv2dBatchNorm& op, const KernelSpecs& specs)
    : of_residual_(op.of_residual),
      norm_inputs_(specs_of_norm(specs).inputs),
      convolved_(specs.outputs.back()),
      bytes_(op.of_residual && !op.convolved_is_read ? padded(convolved_.bytes()) : 0) {}

ConvThenNormArgs::Both ConvThenNormArgs::bind(const KernelArgs& args) {
  convolved_.data = args.outputs.back().data;
  if (convolved_.data == nullptr && of_residual_) {
    if (bytes_ == 0) throw Error("conv2d_batch_norm: the convolution's output is said to be read, but has no memory");
    convolved_.data = args.workspace;
  } else if (convolved_.data == nullptr) {
    convolved_.data = args.outputs[0].data;
  }
  norm_inputs_[0].data = convolved_.data;
  for (std::size_t i = 1; i < norm_inputs_.size(); ++i) {
    norm_inputs_[i].data = args.inputs[Conv2dBatchNorm::kOfConvolution + i - 1].data;
  }
  Both both{args, args};
  both.convolution.workspace = both.norm.workspace = args.workspace + bytes_;
  both.convolution.inputs = args.inputs.first(Conv2dBatchNorm::kOfConvolution);
  both.convolution.outputs = {&convolved_, 1};
  both.norm.inputs = norm_inputs_;
  both.norm.outputs = args.outputs.first(Conv2dBatchNorm::kOfNorm);
  return both;
}

ConvThenNorm::ConvThenNorm(const Conv2dBatchNorm& op, const KernelSpecs& specs, std::unique_ptr<Kernel> convolution,
                           std::unique_ptr<Kernel> norm)
    : convolution_(std::move(convolution)), norm_(std::move(norm)), args_(op, specs) {}

std::size_t ConvThenNorm::workspace_bytes() const {
  return args_.bytes() + std::max(convolution_->workspace_bytes(), norm_->workspace_bytes());
}

std::optional<DerivedForm> ConvThenNorm::derived_form(std::size_t input) const {
  return input < Conv2dBatchNorm::kOfConvolution ? convolution_->derived_form(input) : std::nullopt;
}

void ConvThenNorm::enqueue(Stream& stream, const KernelArgs& args) {
  const auto [convolution, norm] = args_.bind(args);
  convolution_->enqueue(stream, convolution);
  norm_->enqueue(stream, norm);
}

}  // namespace mirrortrain::cuda
