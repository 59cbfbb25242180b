#pragma once

#include <cstdint>
#include <span>

#include "model/initializers.h"
#include "model/layer_builder.h"
#include "model/layer_common.h"

namespace mirrortrain::layers {

/// gamma (x - mean) / sqrt(variance + epsilon) + beta for each channel, with the statistics of the
/// replica's batch, or of the global one, in training and with the moving ones in evaluation and in a frozen layer.
struct BatchNormalization : LayerCommon {
  static constexpr std::string_view kName = "batch_normalization";
  static constexpr std::string_view kAliases = "batch_norm, batch_norm1d, batch_norm2d, batch_norm3d, bn";
  static constexpr Masking kMasking = Masking::kOwn;
  std::int64_t axis = -1;  ///< of the channels
  double momentum = 0.99, epsilon = 1e-3;
  bool center = true, scale = true, synchronized = false;
  Initializer beta_initializer = initializers::Zeros{};
  Initializer gamma_initializer = initializers::Ones{};
  Initializer moving_mean_initializer = initializers::Zeros{};
  Initializer moving_variance_initializer = initializers::Ones{};

  static config::Section<BatchNormalization> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

}  // namespace mirrortrain::layers
