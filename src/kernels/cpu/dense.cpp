#include "graph/ops/dense.h"

#include "kernels/cpu/choose_kernel.h"
#include "kernels/cpu/onednn_kernel.h"
#include "kernels/cpu/registry.h"

namespace mirrortrain::cpu {
namespace {

/// Rows here are all positions: [..., in] is a matrix. bfloat16 weights are a copy anyway and may lie as oneDNN likes;
/// float32 ones are read where they are.
onednn::InnerProduct inner_product(const TensorView& x, const TensorView& y, bool with_bias, bool any_weights) {
  const std::int64_t in = x.shape.back(), out = y.shape.back(), rows = x.elements() / in;
  const auto type = onednn::type_of(x.dtype);
  constexpr auto kFloat = dnnl::memory::data_type::f32;
  return {.dtype = x.dtype,
          .source = {{rows, in}, type, onednn::Tag::ab},
          .weights = {{out, in}, any_weights ? type : kFloat, any_weights ? onednn::Tag::any : onednn::Tag::ba},
          .bias = with_bias ? onednn::Desc({out}, kFloat, onednn::Tag::a) : onednn::Desc(),
          .destination = {{rows, out}, type, onednn::Tag::ab},
          .canonical = {{out, in}, kFloat, onednn::Tag::ba}};
}

bool is_bfloat16(const KernelSpecs& specs) { return specs.inputs[0].dtype == DType::kBfloat16; }

std::unique_ptr<Kernel> make_forward(const ops::Dense& op, const KernelSpecs& specs) {
  return choose_kernel(op, specs, [&](const KernelSpecs& s) {
    const bool with_bias = s.inputs.size() > 2 && s.input_present[2];
    return onednn::make_forward(inner_product(s.inputs[0], s.outputs[0], with_bias, is_bfloat16(s)), op.activation,
                                s.threads);
  });
}

std::unique_ptr<Kernel> make_input_gradient(const ops::DenseInputGradient& op, const KernelSpecs& specs) {
  return choose_kernel(op, specs, [](const KernelSpecs& s) {
    return onednn::make_input_gradient(inner_product(s.outputs[0], s.inputs[0], false, is_bfloat16(s)), s.threads);
  });
}

std::unique_ptr<Kernel> make_weight_gradient(const ops::DenseWeightGradient& op, const KernelSpecs& specs) {
  return choose_kernel(op, specs, [&](const KernelSpecs& s) {
    return onednn::make_weight_gradient(inner_product(s.inputs[0], s.inputs[1], op.with_bias, false), s.threads);
  });
}

}  // namespace

void add_dense_kernels(KernelRegistry& registry) {
  registry.add<ops::Dense>(make_forward);
  registry.add<ops::DenseInputGradient>(make_input_gradient);
  registry.add<ops::DenseWeightGradient>(make_weight_gradient);
}

}  // namespace mirrortrain::cpu
