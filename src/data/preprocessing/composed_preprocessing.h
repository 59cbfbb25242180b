#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "data/preprocessing/color_preprocessing.h"

namespace mirrortrain::data {

// The transforms of pictures that are composed of others, with Keras's names and meanings.

/// What they have in common: the strength of the others.
struct Composed : ColorFactor {
  MovedInterpolation interpolation = MovedInterpolation::kBilinear;
  /// Whether pixels move, but keep their colors: for labels that are pictures.
  bool moves_only = false;
  static config::Section<Composed> section();
};

struct RandAugment : Composed {
  static constexpr std::string_view kName = "rand_augment";
  static constexpr bool kOfColors = true;
  std::int64_t num_ops = 2;
  RandAugment() { factor.value = 0.5; }
  static config::Section<RandAugment> section();
};

struct AugMix : Composed {
  static constexpr std::string_view kName = "aug_mix";
  static constexpr bool kOfColors = true;
  std::int64_t num_chains = 3, chain_depth = 3;
  double alpha = 1;
  bool all_ops = true;
  AugMix() { factor.value = 0.3; }
  static config::Section<AugMix> section();
};

}  // namespace mirrortrain::data
