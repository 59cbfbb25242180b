#pragma once

#include <array>
#include <optional>
#include <span>

#include "graph/ops/recurrent.h"
#include "model/activation.h"
#include "model/initializers.h"
#include "model/layer_builder.h"
#include "model/layer_common.h"
#include "model/regularizer.h"

namespace mirrortrain::layers {

/// Shared by the recurrent layers: [steps, features] -> [units], or [steps, units] of all states in the order in which
/// they are computed. Variables: kernel [features, gates units], recurrent_kernel [units, gates units] and bias.
struct RecurrentOptions : LayerCommon {
  static constexpr bool kOptionsSetRank = true;
  static constexpr Masking kMasking = Masking::kOwn;
  std::int64_t units = 1;
  ActivationName activation = static_cast<ActivationName>(ops::ActivationKind::kTanh);
  bool use_bias = true;
  Initializer kernel_initializer = initializers::GlorotUniform{};
  Initializer recurrent_initializer = initializers::Orthogonal{};
  Initializer bias_initializer = initializers::Zeros{};
  std::optional<Regularizer> kernel_regularizer, recurrent_regularizer, bias_regularizer;
  std::optional<Constraint> kernel_constraint, recurrent_constraint, bias_constraint;
  float dropout = 0, recurrent_dropout = 0;
  bool return_sequences = false, go_backwards = false, zero_output_for_mask = false;

  static config::Section<RecurrentOptions> section();

 protected:
  /// The states of all steps with dropout of the state that a step reads, the same at all steps, which no kernel has:
  /// in the order in which they are computed, as nodes of each step.
  ValueId dropped_states(LayerBuilder& builder, const ops::RecurrentAttributes& attributes, ValueId projected,
                         ValueId recurrent_kernel, ValueId recurrent_bias) const;
  /// The layer's output from its kernels and, unless kNoValue, biases of the two products.
  ValueId run(LayerBuilder& builder, const ops::RecurrentAttributes& attributes, ValueId x, ValueId kernel,
              ValueId recurrent_kernel, ValueId bias, ValueId recurrent_bias) const;
  /// Creates or finds both kernels.
  std::pair<ValueId, ValueId> kernels(LayerBuilder& builder, ValueId x, std::int64_t gates) const;
};

/// Of layers with gates.
struct GatedOptions : RecurrentOptions {
  ActivationName recurrent_activation = static_cast<ActivationName>(ops::ActivationKind::kSigmoid);

  static config::Section<GatedOptions> section();

 protected:
  ops::RecurrentAttributes attributes(ops::Cell cell) const;
};

/// The state after a step is activation(input kernel + state recurrent_kernel + bias); bias [units].
struct SimpleRnn : RecurrentOptions {
  static constexpr std::string_view kName = "simple_rnn";
  static constexpr std::string_view kAliases = "rnn, elman_rnn";

  static config::Section<SimpleRnn> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// Long short-term memory; bias [4 units], gates input, forget, candidate, output.
struct Lstm : GatedOptions {
  static constexpr std::string_view kName = "lstm";
  bool unit_forget_bias = true;

  static config::Section<Lstm> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// Gated recurrent unit; gates update, reset, candidate; bias [2, 3 units], of the input's product and of the state's,
/// or without reset_after [3 units].
struct Gru : GatedOptions {
  static constexpr std::string_view kName = "gru";
  bool reset_after = true;

  static config::Section<Gru> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

}  // namespace mirrortrain::layers
