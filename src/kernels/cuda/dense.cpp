#include "graph/ops/dense.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "base/error.h"
#include "kernels/cuda/libraries.h"
#include "kernels/cuda/matrix_passes.h"
#include "kernels/cuda/merge_gelu.h"
#include "kernels/cuda/merge_logits.h"
#include "kernels/cuda/padded_product.h"
#include "kernels/cuda/weight_forms.h"

namespace mirrortrain::cuda {
namespace {

using Epilogue = CublasLtProduct::Epilogue;

/// x [rows, in], kernel [in, out], y [rows, out]; rows of x and y may be longer (merge_logits.h).
struct Sizes {
  std::int64_t rows, in, out;
  std::int64_t x_stride, y_stride;  ///< as Factor::stride
  Sizes(const TensorView& x, const Shape& kernel, const TensorView& y)
      : rows(x.elements() / x.shape.back()),
        in(kernel[0]),
        out(kernel[1]),
        x_stride(x.shape.back() == in ? 0 : x.shape.back()),
        y_stride(y.shape.back() == out ? 0 : y.shape.back()) {}
};

PaddedProduct required(const Op& op, DType dtype, const Sizes& s, std::optional<PaddedProduct> product) {
  if (product) return std::move(*product);
  throw Error(fmt::format("{} on cuda: cuBLASLt has no algorithm for {} rows, {} inputs, {} outputs in {}", op.name(),
                          s.rows, s.in, s.out, name_of(dtype)));
}

/// One matrix multiplication with what cuBLASLt can do in it (for a single row or column it did not always add a bias),
/// else followed by separate passes.
class Forward : public Kernel {
 public:
  Forward(const ops::Dense& op, const KernelSpecs& specs, std::shared_ptr<CublasLt> blas)
      : kernel_(specs.inputs[1]),
        dtype_(specs.inputs[0].dtype),
        s_(specs.inputs[0], specs.inputs[1].shape, specs.outputs[0]),
        with_bias_(specs.inputs.size() > 2 && specs.input_present[2]),
        keeps_input_(specs.outputs.size() > 1),
        product_(make_product(op, std::move(blas))),
        activation_(activates_ ? ops::ActivationKind::kLinear : op.activation, specs.outputs[0]) {
    if (with_bias_) bias_ = specs.inputs[2];
  }

  std::size_t workspace_bytes() const override { return product_.workspace_bytes(); }
  std::optional<DerivedForm> derived_form(std::size_t input) const override {
    if (input == 1) return dtype_form(kernel_, dtype_);
    if (input == 2 && with_bias_) return dtype_form(bias_, dtype_);
    return std::nullopt;
  }
  void enqueue(Stream& stream, const KernelArgs& args) override {
    const TensorView &y = args.outputs[0], &before = keeps_input_ ? args.outputs[1] : y;
    std::byte* const bias = with_bias_ ? args.inputs[2].data : nullptr;
    std::byte* const c = (activates_ ? y : before).data;
    product_.enqueue(stream, args.inputs[0].data, args.inputs[1].data, c, bias, args.workspace, before.data);
    if (with_bias_ && !adds_bias_) add_to_rows(stream, s_.rows, s_.out, dtype_, bias, c, s_.y_stride);
    activation_.enqueue(stream, before, y);
  }

 private:
  static Epilogue fused(ops::ActivationKind kind, bool bias, bool keeps_input) {
    if (kind == ops::ActivationKind::kRelu) return bias ? Epilogue::kReluBias : Epilogue::kRelu;
    if (kind != ops::ActivationKind::kGeluTanh) return bias ? Epilogue::kBias : Epilogue::kNone;
    if (keeps_input) return bias ? Epilogue::kGeluBiasKeepingInput : Epilogue::kGeluKeepingInput;
    return bias ? Epilogue::kGeluBias : Epilogue::kGelu;
  }

  PaddedProduct make_product(const ops::Dense& op, std::shared_ptr<CublasLt> blas) {
    const auto make = [&](Epilogue epilogue) {
      return PaddedProduct::make(blas, {s_.rows, s_.in, false, s_.x_stride}, {s_.in, s_.out}, dtype_, dtype_, epilogue,
                                 s_.y_stride);
    };
    const Epilogue all = fused(op.activation, with_bias_, keeps_input_),
                   bias = with_bias_ ? Epilogue::kBias : Epilogue::kNone;
    adds_bias_ = true, activates_ = all != bias;
    if (auto product = make(all)) return std::move(*product);
    activates_ = false;
    if (all != bias) {
      if (auto product = make(bias)) return std::move(*product);
    }
    adds_bias_ = false;
    return required(op, dtype_, s_, make(Epilogue::kNone));
  }

  TensorView kernel_, bias_;
  DType dtype_;
  Sizes s_;
  bool with_bias_, keeps_input_;
  bool adds_bias_ = false, activates_ = false;  ///< whether the product does
  PaddedProduct product_;
  ActivationPass activation_;
};

/// dx = dy · kernel^T, of DenseInputGradientOfGelu times gelu's derivative.
class InputGradient : public Kernel {
 public:
  InputGradient(const ops::DenseInputGradient& op, const KernelSpecs& specs, std::shared_ptr<CublasLt> blas)
      : kernel_(specs.inputs[1]), dtype_(specs.inputs[0].dtype), product_(make_product(op, specs, std::move(blas))) {}

  std::size_t workspace_bytes() const override { return product_.workspace_bytes(); }
  std::optional<DerivedForm> derived_form(std::size_t input) const override {
    return input == 1 ? dtype_form(kernel_, dtype_) : std::nullopt;
  }
  void enqueue(Stream& stream, const KernelArgs& args) override {
    std::byte* const gelu_input = args.inputs.size() > 2 ? args.inputs[2].data : nullptr;
    product_.enqueue(stream, args.inputs[0].data, args.inputs[1].data, args.outputs[0].data, nullptr, args.workspace,
                     gelu_input);
    if (gelu_pass_) gelu_pass_->enqueue(stream, args.inputs[2], args.outputs[0]);
  }

 private:
  PaddedProduct make_product(const ops::DenseInputGradient& op, const KernelSpecs& specs,
                             std::shared_ptr<CublasLt> blas) {
    const Sizes s(specs.outputs[0], kernel_.shape, specs.inputs[0]);
    const auto make = [&](Epilogue epilogue) {
      return PaddedProduct::make(blas, {s.rows, s.out, false, s.y_stride}, {s.in, s.out, true}, dtype_, dtype_,
                                 epilogue, s.x_stride);
    };
    if (specs.inputs.size() > 2) {
      if (auto product = make(Epilogue::kGeluGradient)) return std::move(*product);
      gelu_pass_.emplace(ops::ActivationKind::kGeluTanh, specs.outputs[0]);
    }
    return required(op, dtype_, s, make(Epilogue::kNone));
  }

  TensorView kernel_;
  DType dtype_;
  std::optional<ActivationGradientPass> gelu_pass_;  ///< where cuBLASLt cannot multiply by the derivative
  PaddedProduct product_;
};

/// dkernel = x^T · dy, with the sums of dy's columns in the same call if cuBLASLt can.
class WeightGradient : public Kernel {
 public:
  WeightGradient(const ops::DenseWeightGradient& op, const KernelSpecs& specs, std::shared_ptr<CublasLt> blas)
      : s_(specs.inputs[0], specs.outputs[0].shape, specs.inputs[1]), dtype_(specs.inputs[0].dtype) {
    const auto make = [&](Epilogue epilogue) {
      return PaddedProduct::make(blas, {s_.rows, s_.in, true, s_.x_stride}, {s_.rows, s_.out, false, s_.y_stride},
                                 dtype_, DType::kFloat32, epilogue);
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
    if (bias != nullptr) column_sums(stream, s_.rows, s_.out, dtype_, dy, bias, args.workspace, s_.y_stride);
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
  const auto add = [&]<class OpType, class Made>(std::type_identity<OpType>, std::type_identity<Made>) {
    registry.add<OpType>(maker<OpType, Made>(blas));
    registry.add<OfPaddedRows<OpType>>(maker<OfPaddedRows<OpType>, Made>(blas));
  };
  add(std::type_identity<ops::Dense>(), std::type_identity<Forward>());
  add(std::type_identity<ops::DenseInputGradient>(), std::type_identity<InputGradient>());
  add(std::type_identity<ops::DenseWeightGradient>(), std::type_identity<WeightGradient>());
  registry.add<DenseWithGelu>(maker<DenseWithGelu, Forward>(blas));
  registry.add<DenseInputGradientOfGelu>(maker<DenseInputGradientOfGelu, InputGradient>(blas));
}

}  // namespace mirrortrain::cuda
