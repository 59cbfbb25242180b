#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "model/plain_layers.h"

namespace mirrortrain::layers {

/// A layer whose kernel, or table, each training step divides by its largest singular value before it is read (Miyato
/// et al., 2018). Variables: those of the layer, and vector_u [1, the kernel's last axis], where the next step's power
/// iteration begins. The output has the mask that the layer gives it.
struct SpectralNormalization : LayerCommon {
  static constexpr std::string_view kName = "spectral_normalization";
  static constexpr std::string_view kAliases = "spectral_norm";
  static constexpr bool kOptionsSetRank = true;
  static constexpr Masking kMasking = Masking::kOwn;
  PlainLayer layer;
  std::int64_t power_iterations = 1;

  static config::Section<SpectralNormalization> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

}  // namespace mirrortrain::layers
