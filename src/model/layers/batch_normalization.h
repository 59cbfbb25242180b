#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "model/initializers.h"
#include "model/layer_builder.h"
#include "model/layers/normalization.h"

namespace mirrortrain::layers {

/// Bounds of what corrects a batch's statistics; null: none.
struct RenormClipping {
  std::optional<double> rmin, rmax, dmax;

  static config::Section<RenormClipping> section();
};

/// gamma (x - mean) / sqrt(variance + epsilon) + beta for each channel, with the statistics of the
/// replica's batch, or of the global one, in training and with the moving ones in evaluation and in a frozen layer.
/// With `renorm` a batch's statistics are corrected to those before it (Ioffe, 2017).
struct BatchNormalization : GammaAndBeta, LayerCommon {
  static constexpr std::string_view kName = "batch_normalization";
  static constexpr std::string_view kAliases = "batch_norm, batch_norm1d, batch_norm2d, batch_norm3d, bn";
  static constexpr Masking kMasking = Masking::kOwn;
  std::int64_t axis = -1;  ///< of the channels
  double momentum = 0.99, epsilon = 1e-3, renorm_momentum = 0.99;
  bool synchronized = false, renorm = false;
  std::optional<RenormClipping> renorm_clipping;
  Initializer moving_mean_initializer = initializers::Zeros{};
  Initializer moving_variance_initializer = initializers::Ones{};

  static config::Section<BatchNormalization> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;

 private:
  struct Statistics;
  ValueId renormalize(LayerBuilder& builder, const Statistics& statistics, ValueId x, ValueId gamma, ValueId beta,
                      ValueId sums) const;
};

}  // namespace mirrortrain::layers
