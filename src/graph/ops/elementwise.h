#pragma once

#include "graph/graph.h"
#include "graph/ops/activation_kind.h"

namespace mirrortrain::ops {

/// An elementwise activation; any shape, float32 or bfloat16.
struct Activation : Op {
  ActivationKind kind;
  explicit Activation(ActivationKind k) : kind(k) {}
  std::string_view name() const override { return "activation"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
  bool may_overwrite(std::size_t) const override { return true; }
};

/// Inputs: the activation's output where derivative_from_output(kind), else its input; gradient of the output.
/// Output: gradient of the input.
struct ActivationGradient : Op {
  ActivationKind kind;
  explicit ActivationGradient(ActivationKind k) : kind(k) {}
  std::string_view name() const override { return "activation_gradient"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  bool may_overwrite(std::size_t) const override { return true; }
};

/// exp(x - max) / sum over the last axis.
struct Softmax : Op {
  std::string_view name() const override { return "softmax"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
};

/// Inputs: softmax's output; gradient of it. Output: gradient of softmax's input.
struct SoftmaxGradient : Op {
  std::string_view name() const override { return "softmax_gradient"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

/// The sum of all inputs in one pass, first to last; all of one spec. One input is allowed.
struct AddN : Op {
  std::string_view name() const override { return "add_n"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
  bool may_overwrite(std::size_t) const override { return true; }
};

/// Converts float32 <-> bfloat16, or int32 to float32.
struct Cast : Op {
  DType to;
  explicit Cast(DType dtype) : to(dtype) {}
  std::string_view name() const override { return "cast"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
  bool may_overwrite(std::size_t) const override { return true; }
};

/// The same elements with another shape per row. An alias: no kernel.
struct Reshape : Op {
  Shape target;
  explicit Reshape(Shape shape) : target(std::move(shape)) {}
  std::string_view name() const override { return "reshape"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
  bool is_alias() const override { return true; }
};

/// Inverted dropout: keeps an element with probability 1 - rate and scales it by 1 / (1 - rate).
/// The mask is a function of (seed, step, `stream`, row in the global batch, element): element e of a row uses word e %
/// 4 of Philox(seed)(e / 4, row, step, stream) and is dropped where uniform_from_bits(word) < rate. So no mask is
/// stored, the gradient is the same op on the gradient, and the number of replicas does not matter. Only in training
/// graphs.
struct Dropout : Op {
  float rate;
  std::uint32_t stream;  ///< from the layer's name
  Dropout(float dropout_rate, std::uint32_t random_stream) : rate(dropout_rate), stream(random_stream) {}
  std::string_view name() const override { return "dropout"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
  bool may_overwrite(std::size_t) const override { return true; }
};

/// Numbers of the standard normal distribution, by the same rule as Dropout's mask: the words of a counter give two
/// pairs (kernels/scalar/normal.h). Input: anything batched. Output: batched `shape` float32. Only in training graphs.
struct RandomNormal : Op {
  Shape shape;
  std::uint32_t stream;  ///< from the layer's name
  RandomNormal(Shape of, std::uint32_t random_stream) : shape(std::move(of)), stream(random_stream) {}
  std::string_view name() const override { return "random_normal"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

}  // namespace mirrortrain::ops
