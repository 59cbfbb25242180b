#include "kernels/cuda/weight_forms.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "graph/ops/elementwise.h"
#include "kernels/cuda/custom_kernels.h"
#include "kernels/cuda/matrix_passes.h"

namespace mirrortrain::cuda {
namespace {

std::size_t bytes_of(const TensorView& tensor, DType dtype) {
  return static_cast<std::size_t>(tensor.elements()) * size_of(dtype);
}

/// An op of the custom kernels.
std::unique_ptr<Kernel> make_own(const Op& op, std::vector<TensorView> from, const TensorView& to) {
  KernelRegistry own("cuda");
  add_custom_kernels(own);
  KernelSpecs specs;
  specs.input_present.assign(from.size(), true);
  specs.inputs = std::move(from);
  specs.outputs = {to};
  return own.make(op, specs);
}

}  // namespace

DerivedForm filter_form(const TensorView& kernel, DType dtype) {
  const std::int64_t out = kernel.shape.back(), taps = kernel.elements() / out;
  auto of_ohwi = dtype_form(kernel, dtype);
  return {
      .key = fmt::format("cudnn filter {}", name_of(dtype)),
      .bytes = bytes_of(kernel, dtype),
      .refresh = [=](Stream& stream, const TensorView& canonical,
                     std::byte* copy) { transpose(stream, taps, out, DType::kFloat32, canonical.data, dtype, copy); },
      .of_out_first = std::make_shared<const DerivedForm>(of_ohwi ? std::move(*of_ohwi) : DerivedForm())};
}

DerivedForm depthwise_form(const TensorView& kernel, DType dtype) {
  const std::int64_t channels = kernel.shape.back(), taps = kernel.elements() / channels;
  DerivedForm form{.key = fmt::format("depthwise filter {}", name_of(dtype)), .bytes = bytes_of(kernel, dtype)};
  DerivedForm of_ohwi = form;
  form.refresh = [cast = dtype_form(kernel, dtype)](Stream& stream, const TensorView& canonical, std::byte* copy) {
    if (cast) return cast->refresh(stream, canonical, copy);
    stream.copy(copy, canonical.data, canonical.bytes());
  };
  of_ohwi.refresh = [=](Stream& stream, const TensorView& ohwi, std::byte* copy) {
    transpose(stream, channels, taps, DType::kFloat32, ohwi.data, dtype, copy);
  };
  form.of_out_first = std::make_shared<const DerivedForm>(std::move(of_ohwi));
  return form;
}

std::optional<DerivedForm> dtype_form(const TensorView& weight, DType dtype) {
  if (dtype == DType::kFloat32) return std::nullopt;
  const std::shared_ptr<Kernel> cast =
      make_own(ops::Cast(dtype), {TensorView{DType::kFloat32, weight.shape}}, {dtype, weight.shape});
  return DerivedForm{std::string(name_of(dtype)), bytes_of(weight, dtype),
                     [=](Stream& stream, const TensorView& canonical, std::byte* copy) {
                       const TensorView to{dtype, canonical.shape, copy};
                       cast->enqueue(stream, {.inputs = {&canonical, 1}, .outputs = {&to, 1}});
                     },
                     dtype == DType::kBfloat16, nullptr};
}

ActivationPass::ActivationPass(ops::ActivationKind kind, const TensorView& y) {
  if (kind != ops::ActivationKind::kLinear) kernel_ = make_own(ops::Activation(kind), {y}, y);
}

void ActivationPass::enqueue(Stream& stream, const KernelArgs& args) {
  if (kernel_) kernel_->enqueue(stream, {.inputs = args.outputs, .outputs = args.outputs});
}

void ActivationPass::enqueue(Stream& stream, const TensorView& from, const TensorView& y) {
  if (kernel_) kernel_->enqueue(stream, {.inputs = {&from, 1}, .outputs = {&y, 1}});
}

ActivationGradientPass::ActivationGradientPass(ops::ActivationKind kind, const TensorView& dx)
    : kernel_(make_own(ops::ActivationGradient(kind), {dx, dx}, dx)) {}

void ActivationGradientPass::enqueue(Stream& stream, const TensorView& from, const TensorView& dx) {
  const TensorView inputs[] = {from, dx};
  kernel_->enqueue(stream, {.inputs = inputs, .outputs = {&dx, 1}});
}

}  // namespace mirrortrain::cuda
