#include "graph/ops/dense.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "kernels/cuda/libraries.h"
#include "kernels/cuda/matrix_passes.h"
#include "kernels/cuda/padded_product.h"
#include "kernels/cuda/weight_forms.h"

namespace mirrortrain::cuda {
namespace {

using Epilogue = CublasLtProduct::Epilogue;

/// x [rows, in], kernel [in, out], y [rows, out].
struct Sizes {
  std::int64_t rows, in, out;
  Sizes(const TensorView& x, const TensorView& y)
      : rows(x.elements() / x.shape.back()), in(x.shape.back()), out(y.shape.back()) {}
};

PaddedProduct required(const Op& op, DType dtype, const Sizes& s, std::optional<PaddedProduct> product) {
  if (product) return std::move(*product);
  throw Error(fmt::format("{} on cuda: cuBLASLt has no algorithm for {} rows, {} inputs, {} outputs in {}", op.name(),
                          s.rows, s.in, s.out, name_of(dtype)));
}

/// One matrix multiplication if cuBLASLt can add the bias in it (for a single row or column it did not always), else
/// followed by separate passes.
class Forward : public Kernel {
 public:
  Forward(const ops::Dense& op, const KernelSpecs& specs, std::shared_ptr<CublasLt> blas)
      : kernel_(specs.inputs[1]),
        dtype_(specs.inputs[0].dtype),
        s_(specs.inputs[0], specs.outputs[0]),
        with_bias_(specs.inputs.size() > 2 && specs.input_present[2]),
        with_relu_(op.activation == ops::ActivationKind::kRelu),
        product_(make_product(op, std::move(blas))),
        activation_(is_fused_ && with_relu_ ? ops::ActivationKind::kLinear : op.activation, specs.outputs[0]) {
    if (with_bias_) bias_ = specs.inputs[2];
  }

  std::size_t workspace_bytes() const override { return product_.workspace_bytes(); }
  std::optional<DerivedForm> derived_form(std::size_t input) const override {
    if (input == 1) return dtype_form(kernel_, dtype_);
    if (input == 2 && with_bias_) return dtype_form(bias_, dtype_);
    return std::nullopt;
  }
  void enqueue(Stream& stream, const KernelArgs& args) override {
    std::byte *const bias = with_bias_ ? args.inputs[2].data : nullptr, *const y = args.outputs[0].data;
    product_.enqueue(stream, args.inputs[0].data, args.inputs[1].data, y, bias, args.workspace);
    if (with_bias_ && !is_fused_) add_to_rows(stream, s_.rows, s_.out, dtype_, bias, y);
    activation_.enqueue(stream, args);
  }

 private:
  PaddedProduct make_product(const ops::Dense& op, std::shared_ptr<CublasLt> blas) {
    const auto make = [&](Epilogue epilogue) {
      return PaddedProduct::make(blas, {s_.rows, s_.in}, {s_.in, s_.out}, dtype_, dtype_, epilogue);
    };
    const Epilogue epilogue = with_bias_   ? (with_relu_ ? Epilogue::kReluBias : Epilogue::kBias)
                              : with_relu_ ? Epilogue::kRelu
                                           : Epilogue::kNone;
    if (auto fused = make(epilogue)) return std::move(*fused);
    is_fused_ = false;
    return required(op, dtype_, s_, make(Epilogue::kNone));
  }

  TensorView kernel_, bias_;
  DType dtype_;
  Sizes s_;
  bool with_bias_, with_relu_, is_fused_ = true;
  PaddedProduct product_;
  ActivationPass activation_;
};

/// dx = dy · kernel^T.
class InputGradient : public Kernel {
 public:
  InputGradient(const ops::DenseInputGradient& op, const KernelSpecs& specs, std::shared_ptr<CublasLt> blas)
      : kernel_(specs.inputs[1]), dtype_(specs.inputs[0].dtype), product_([&] {
          const Sizes s(specs.outputs[0], specs.inputs[0]);
          return required(op, dtype_, s,
                          PaddedProduct::make(std::move(blas), {s.rows, s.out}, {s.in, s.out, true}, dtype_, dtype_,
                                              Epilogue::kNone));
        }()) {}

  std::size_t workspace_bytes() const override { return product_.workspace_bytes(); }
  std::optional<DerivedForm> derived_form(std::size_t input) const override {
    return input == 1 ? dtype_form(kernel_, dtype_) : std::nullopt;
  }
  void enqueue(Stream& stream, const KernelArgs& args) override {
    product_.enqueue(stream, args.inputs[0].data, args.inputs[1].data, args.outputs[0].data, nullptr, args.workspace);
  }

 private:
  TensorView kernel_;
  DType dtype_;
  PaddedProduct product_;
};

/// dkernel = x^T · dy, with the sums of dy's columns in the same call if cuBLASLt can.
class WeightGradient : public Kernel {
 public:
  WeightGradient(const ops::DenseWeightGradient& op, const KernelSpecs& specs, std::shared_ptr<CublasLt> blas)
      : s_(specs.inputs[0], specs.inputs[1]), dtype_(specs.inputs[0].dtype) {
    const auto make = [&](Epilogue epilogue) {
      return PaddedProduct::make(blas, {s_.rows, s_.in, true}, {s_.rows, s_.out}, dtype_, DType::kFloat32, epilogue);
    };
    alone_ = required(op, dtype_, s_, make(Epilogue::kNone));
    if (op.with_bias) with_sums_ = make(Epilogue::kSumsOfRight);
  }

  std::size_t workspace_bytes() const override {
    const std::size_t both = with_sums_ ? with_sums_->workspace_bytes() : 0;
    return std::max({alone_->workspace_bytes(), both, column_sums_workspace(s_.rows, s_.out)});
  }

  void enqueue(Stream& stream, const KernelArgs& args) override {
    const std::byte *x = args.inputs[0].data, *dy = args.inputs[1].data;
    std::byte* const kernel = args.outputs[0].data;
    auto* const bias = args.outputs.size() > 1 ? args.outputs[1].as<float>() : nullptr;
    if (kernel != nullptr && bias != nullptr && with_sums_) {
      return with_sums_->enqueue(stream, x, dy, kernel, bias, args.workspace);
    }
    if (kernel != nullptr) alone_->enqueue(stream, x, dy, kernel, nullptr, args.workspace);
    if (bias != nullptr) column_sums(stream, s_.rows, s_.out, dtype_, dy, bias, args.workspace);
  }

 private:
  Sizes s_;
  DType dtype_;
  std::optional<PaddedProduct> alone_, with_sums_;
};

template <class OpType, class Made>
auto maker(std::shared_ptr<CublasLt> blas) {
  return [blas, make = for_rows<OpType, Made>(blas)](const OpType& op, const KernelSpecs& specs) {
    if (!blas) throw Error(fmt::format("{} on cuda: cuBLASLt chooses algorithms on a GPU alone", op.name()));
    return make(op, specs);
  };
}

}  // namespace

void add_dense_kernels(KernelRegistry& registry, std::shared_ptr<CublasLt> blas) {
  registry.add<ops::Dense>(maker<ops::Dense, Forward>(blas));
  registry.add<ops::DenseInputGradient>(maker<ops::DenseInputGradient, InputGradient>(blas));
  registry.add<ops::DenseWeightGradient>(maker<ops::DenseWeightGradient, WeightGradient>(blas));
}

}  // namespace mirrortrain::cuda
