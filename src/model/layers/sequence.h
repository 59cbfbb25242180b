#pragma once

#include <cstdint>
#include <span>

#include "model/initializers.h"
#include "model/layer_builder.h"
#include "model/layer_common.h"

namespace mirrortrain::layers {

/// [steps, channels] -> [1 + steps, channels]: prepends a trained vector to the sequence, like the class token of a
/// vision transformer; variable token [1, channels].
struct ClassToken : LayerCommon {
  static constexpr std::string_view kName = "class_token";
  Initializer initializer = initializers::Zeros{};

  static config::Section<ClassToken> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// [features] -> [n, features]: the vector at each of n steps.
struct RepeatVector : LayerCommon {
  static constexpr std::string_view kName = "repeat_vector";
  std::int64_t n = 1;

  static config::Section<RepeatVector> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// [..., channels] -> the same, with a mask: a position whose channels all are mask_value is padding, and becomes 0.
struct MaskByValue : LayerCommon {
  static constexpr std::string_view kName = "masking";
  static constexpr Masking kMasking = Masking::kOwn;
  float mask_value = 0;

  static config::Section<MaskByValue> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

}  // namespace mirrortrain::layers
