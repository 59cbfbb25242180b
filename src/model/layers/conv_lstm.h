#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "model/layers/conv.h"

namespace mirrortrain::layers {

/// An LSTM whose products are convolutions (Shi et al., 2015): [steps, ..., in] -> [..., filters], or [steps, ...,
/// filters] of all states in the order in which they are computed. Variables: kernel [..., in, 4 filters],
/// recurrent_kernel [..., filters, 4 filters] and bias [4 filters], gates input, forget, candidate, output. At a masked
/// step, state and cell are unchanged.
template <std::size_t kAxes>
struct ConvLstm : WindowOptions<kAxes> {
  static constexpr std::string_view kName = by_axes<kAxes>("conv_lstm1d", "conv_lstm2d", "conv_lstm3d");
  static constexpr bool kOptionsSetRank = true;
  static constexpr Masking kMasking = Masking::kOwn;
  std::int64_t filters = 1;
  ActivationName recurrent_activation = static_cast<ActivationName>(ops::ActivationKind::kSigmoid);
  Initializer kernel_initializer = initializers::GlorotUniform{};
  Initializer recurrent_initializer = initializers::Orthogonal{};
  bool unit_forget_bias = true;
  std::optional<Regularizer> kernel_regularizer, recurrent_regularizer;
  std::optional<Constraint> kernel_constraint, recurrent_constraint;
  float dropout = 0, recurrent_dropout = 0;
  bool return_sequences = false, go_backwards = false;

  ConvLstm() { this->activation = static_cast<ActivationName>(ops::ActivationKind::kTanh); }

  static config::Section<ConvLstm> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

}  // namespace mirrortrain::layers
