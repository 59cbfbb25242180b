#pragma once

#include <span>

#include "model/initializers.h"
#include "model/layer_builder.h"
#include "model/layer_common.h"

namespace mirrortrain::layers {

/// (x - mean) / sqrt(variance + epsilon) gamma + beta, with separate statistics for each example; variables gamma and
/// beta [channels].
struct ExampleNormOptions : LayerCommon {
  double epsilon = 1e-3;
  bool center = true, scale = true;
  Initializer beta_initializer = initializers::Zeros{};
  Initializer gamma_initializer = initializers::Ones{};

  static config::Section<ExampleNormOptions> section();

 protected:
  ValueId normalize(LayerBuilder& builder, ValueId source, std::int64_t groups, bool by_position) const;
};

/// The error of a non-default initializer for a weight that `center` or `scale` omits; else empty.
template <class Options>
std::string without_beta(const Options& layer) {
  const bool is_given = !std::holds_alternative<initializers::Zeros>(layer.beta_initializer);
  return is_given && !layer.center ? "there is no beta, as center is false; remove one of the two" : "";
}
template <class Options>
std::string without_gamma(const Options& layer) {
  const bool is_given = !std::holds_alternative<initializers::Ones>(layer.gamma_initializer);
  return is_given && !layer.scale ? "there is no gamma, as scale is false; remove one of the two" : "";
}

/// Statistics over the last axis.
struct LayerNormalization : ExampleNormOptions {
  static constexpr std::string_view kName = "layer_normalization";
  static constexpr std::string_view kAliases = "layer_norm";
  static constexpr Masking kMasking = Masking::kPasses;

  static config::Section<LayerNormalization> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// Statistics over groups of channels and all positions.
struct GroupNormalization : ExampleNormOptions {
  static constexpr std::string_view kName = "group_normalization";
  static constexpr std::string_view kAliases = "group_norm";
  static constexpr Masking kMasking = Masking::kPasses;
  std::int64_t groups = 32;  ///< -1: one for each channel

  static config::Section<GroupNormalization> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

}  // namespace mirrortrain::layers
