#include "graph/ops/dense.h"

#include "kernels/cpu/choose_kernel.h"
#include "kernels/cpu/dense_pairs.h"
#include "kernels/cpu/float32_kernels.h"
#include "kernels/cpu/onednn_kernel.h"
#include "kernels/cpu/registry.h"
#include "kernels/cpu/sum_rows.h"

namespace mirrortrain::cpu {
namespace {

bool is_float32(const KernelSpecs& specs) { return specs.inputs[0].dtype == DType::kFloat32; }

/// A library's kernel, unless the weight's gradient is not read because the update computes it: then only the bias's
/// gradient.
class WeightGradientIfRead : public Kernel {
 public:
  explicit WeightGradientIfRead(std::unique_ptr<Kernel> kernel) : kernel_(std::move(kernel)) {}

  std::size_t workspace_bytes() const override { return kernel_->workspace_bytes(); }

  void enqueue(Stream& stream, const KernelArgs& args) override {
    if (args.outputs[0].data != nullptr) return kernel_->enqueue(stream, args);
    if (args.outputs.size() < 2 || args.outputs[1].data == nullptr) return;
    const TensorView& dy = args.inputs[1];
    const std::int64_t columns = dy.shape.back();
    sum_rows(1, dy.elements() / columns, columns, dy.as<const bfloat16>(), args.outputs[1].as<float>());
  }

 private:
  std::unique_ptr<Kernel> kernel_;
};

std::unique_ptr<Kernel> make_dense(const ops::Dense& op, const KernelSpecs& specs) {
  return choose_kernel(op, specs, [&](const KernelSpecs& s) {
    if (is_float32(s)) return dense_float32::make_forward(op, s);
    if (auto kernel = dense_pairs::make_forward(op, s)) return kernel;
    const bool with_bias = s.inputs.size() > 2 && s.input_present[2];
    return onednn::make_forward(onednn::inner_product(s.inputs[0], s.outputs[0], with_bias), op.activation, s.threads);
  });
}

std::unique_ptr<Kernel> make_dense_input_gradient(const ops::DenseInputGradient& op, const KernelSpecs& specs) {
  return choose_kernel(op, specs, [](const KernelSpecs& s) {
    if (is_float32(s)) return dense_float32::make_input_gradient(s);
    if (auto kernel = dense_pairs::make_input_gradient(s)) return kernel;
    return onednn::make_input_gradient(onednn::inner_product(s.outputs[0], s.inputs[0], false), s.threads);
  });
}

std::unique_ptr<Kernel> make_dense_weight_gradient(const ops::DenseWeightGradient& op, const KernelSpecs& specs) {
  return choose_kernel(op, specs, [&](const KernelSpecs& s) -> std::unique_ptr<Kernel> {
    if (is_float32(s)) return dense_float32::make_weight_gradient(s);
    auto kernel =
        onednn::make_weight_gradient(onednn::inner_product(s.inputs[0], s.inputs[1], op.with_bias), s.threads);
    if (kernel != nullptr) kernel = std::make_unique<WeightGradientIfRead>(std::move(kernel));
    return kernel;
  });
}

}  // namespace

void add_dense_kernels(KernelRegistry& registry) {
  registry.add<ops::Dense>(make_dense);
  registry.add<ops::DenseInputGradient>(make_dense_input_gradient);
  registry.add<ops::DenseWeightGradient>(make_dense_weight_gradient);
}

}  // namespace mirrortrain::cpu
