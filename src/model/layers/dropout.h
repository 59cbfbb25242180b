#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/layer_builder.h"
#include "model/layer_common.h"

namespace mirrortrain::layers {

/// In training, numbers that are 0 with probability `rate`, else 1 / (1 - rate): batched `shape`.
ValueId drawn_mask(LayerBuilder& builder, Shape shape, float rate, DType dtype = DType::kFloat32);

/// `source` in training with dropout of which `drawn` is drawn, which has 1 along axes whose elements are dropped
/// together.
ValueId dropped_alike(LayerBuilder& builder, ValueId source, Shape drawn, float rate);

/// In training drops elements with probability `rate` and scales the others by 1 / (1 - rate); in evaluation does
/// nothing.
struct Dropout : LayerCommon {
  static constexpr std::string_view kName = "dropout";
  static constexpr Masking kMasking = Masking::kPasses;
  float rate = 0;
  std::optional<std::vector<std::optional<std::int64_t>>> noise_shape;

  static config::Section<Dropout> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// Drops whole channels, at all positions of an example together: [..., channels] with `kAxes` axes before them.
template <std::size_t kAxes>
struct SpatialDropout : LayerCommon {
  static constexpr std::string_view kName =
      by_axes<kAxes>("spatial_dropout1d", "spatial_dropout2d", "spatial_dropout3d");
  static constexpr std::string_view kAliases = by_axes<kAxes>("dropout1d", "dropout2d", "dropout3d");
  static constexpr Masking kMasking = Masking::kPasses;
  float rate = 0;

  static config::Section<SpatialDropout> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// Multiplies elements in training by normal numbers of mean 1 and variance rate / (1 - rate).
struct GaussianDropout : LayerCommon {
  static constexpr std::string_view kName = "gaussian_dropout";
  static constexpr Masking kMasking = Masking::kPasses;
  float rate = 0;

  static config::Section<GaussianDropout> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// Adds normal numbers of mean 0 in training.
struct GaussianNoise : LayerCommon {
  static constexpr std::string_view kName = "gaussian_noise";
  static constexpr Masking kMasking = Masking::kPasses;
  float stddev = 0;

  static config::Section<GaussianNoise> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// Dropout that keeps mean and variance behind selu (Klambauer et al., 2017): dropped elements become selu's limit for
/// small x, and all are scaled and moved.
struct AlphaDropout : LayerCommon {
  static constexpr std::string_view kName = "alpha_dropout";
  static constexpr Masking kMasking = Masking::kPasses;
  float rate = 0;
  std::optional<std::vector<std::optional<std::int64_t>>> noise_shape;

  static config::Section<AlphaDropout> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

}  // namespace mirrortrain::layers
