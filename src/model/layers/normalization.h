#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/constraint.h"
#include "model/initializers.h"
#include "model/layer_builder.h"
#include "model/layer_common.h"
#include "model/layers/moved_axes.h"
#include "model/regularizer.h"

namespace mirrortrain::layers {

/// What normalized values are multiplied by and moved by: the weights gamma and beta.
struct GammaAndBeta {
  bool center = true, scale = true;
  Initializer beta_initializer = initializers::Zeros{};
  Initializer gamma_initializer = initializers::Ones{};
  std::optional<Regularizer> beta_regularizer, gamma_regularizer;
  std::optional<Constraint> beta_constraint, gamma_constraint;

  static config::Section<GammaAndBeta> section();

  /// kNoValue for the one that the layer has not.
  ValueId gamma(LayerBuilder& builder, const Shape& shape) const;
  ValueId beta(LayerBuilder& builder, const Shape& shape) const;
};

/// (x - mean) / sqrt(variance + epsilon) gamma + beta, with separate statistics for each example; variables gamma and
/// beta, of the extents of the axes that are normalized.
struct ExampleNormOptions : GammaAndBeta, LayerCommon {
  double epsilon = 1e-3;

  static config::Section<ExampleNormOptions> section();

 protected:
  /// Of the axes of examples, as options name them. Along several axes by_position only.
  ValueId normalize(LayerBuilder& builder, ValueId source, const Axes& axis, std::int64_t groups,
                    bool by_position) const;
};

/// Statistics over the last axis, or others.
struct LayerNormalization : ExampleNormOptions {
  static constexpr std::string_view kName = "layer_normalization";
  static constexpr std::string_view kAliases = "layer_norm";
  static constexpr Masking kMasking = Masking::kPasses;
  Axes axis = std::int64_t{-1};

  static config::Section<LayerNormalization> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// Statistics over groups of channels and all positions.
struct GroupNormalization : ExampleNormOptions {
  static constexpr std::string_view kName = "group_normalization";
  static constexpr std::string_view kAliases = "group_norm";
  static constexpr Masking kMasking = Masking::kPasses;
  std::int64_t groups = 32;  ///< -1: one for each channel
  std::int64_t axis = -1;    ///< of the channels

  static config::Section<GroupNormalization> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// x / sqrt(mean(x^2) + epsilon) scale (Zhang and Sennrich, 2019) along axes of each example; variable scale, of their
/// extents.
struct RmsNormalization : LayerCommon {
  static constexpr std::string_view kName = "rms_normalization";
  static constexpr std::string_view kAliases = "rms_norm";
  Axes axis = std::int64_t{-1};
  double epsilon = 1e-6;

  static config::Section<RmsNormalization> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// x / |x| along axes of each example.
struct UnitNormalization : LayerCommon {
  static constexpr std::string_view kName = "unit_normalization";
  static constexpr std::string_view kAliases = "normalize, l2_normalize, l2_normalization";
  static constexpr Masking kMasking = Masking::kPasses;
  Axes axis = std::int64_t{-1};

  static config::Section<UnitNormalization> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

}  // namespace mirrortrain::layers
