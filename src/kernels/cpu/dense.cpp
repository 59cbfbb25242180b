#include "graph/ops/dense.h"

#include "kernels/cpu/choose_kernel.h"
#include "kernels/cpu/dense_float32.h"
#include "kernels/cpu/onednn_kernel.h"
#include "kernels/cpu/registry.h"

namespace mirrortrain::cpu {
namespace {

/// For bfloat16. Rows here are all positions: [..., in] is a matrix. The weights that are read are a converted copy, so
/// they may lie as oneDNN likes.
onednn::InnerProduct inner_product(const TensorView& x, const TensorView& y, bool with_bias, bool writes_weights) {
  const std::int64_t in = x.shape.back(), out = y.shape.back(), rows = x.elements() / in;
  const auto type = onednn::type_of(x.dtype);
  constexpr auto kFloat = dnnl::memory::data_type::f32;
  const onednn::Desc canonical({out, in}, kFloat, onednn::Tag::ba);
  return {.dtype = x.dtype,
          .source = {{rows, in}, type, onednn::Tag::ab},
          .weights = writes_weights ? canonical : onednn::Desc({out, in}, type, onednn::Tag::any),
          .bias = with_bias ? onednn::Desc({out}, kFloat, onednn::Tag::a) : onednn::Desc(),
          .destination = {{rows, out}, type, onednn::Tag::ab},
          .canonical = canonical};
}

bool is_float32(const KernelSpecs& specs) { return specs.inputs[0].dtype == DType::kFloat32; }

std::unique_ptr<Kernel> make_forward(const ops::Dense& op, const KernelSpecs& specs) {
  return choose_kernel(op, specs, [&](const KernelSpecs& s) {
    if (is_float32(s)) return dense_float32::make_forward(op, s);
    const bool with_bias = s.inputs.size() > 2 && s.input_present[2];
    return onednn::make_forward(inner_product(s.inputs[0], s.outputs[0], with_bias, false), op.activation, s.threads);
  });
}

std::unique_ptr<Kernel> make_input_gradient(const ops::DenseInputGradient& op, const KernelSpecs& specs) {
  return choose_kernel(op, specs, [](const KernelSpecs& s) {
    if (is_float32(s)) return dense_float32::make_input_gradient(s);
    return onednn::make_input_gradient(inner_product(s.outputs[0], s.inputs[0], false, false), s.threads);
  });
}

std::unique_ptr<Kernel> make_weight_gradient(const ops::DenseWeightGradient& op, const KernelSpecs& specs) {
  return choose_kernel(op, specs, [&](const KernelSpecs& s) {
    if (is_float32(s)) return dense_float32::make_weight_gradient(s);
    return onednn::make_weight_gradient(inner_product(s.inputs[0], s.inputs[1], op.with_bias, true), s.threads);
  });
}

}  // namespace

void add_dense_kernels(KernelRegistry& registry) {
  registry.add<ops::Dense>(make_forward);
  registry.add<ops::DenseInputGradient>(make_input_gradient);
  registry.add<ops::DenseWeightGradient>(make_weight_gradient);
}

}  // namespace mirrortrain::cpu
