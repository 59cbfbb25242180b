#pragma once

#include <array>
#include <span>
#include <vector>

#include "model/layer_builder.h"
#include "model/layer_common.h"

namespace mirrortrain::layers {

/// [...] -> [product of all extents].
struct Flatten : LayerCommon {
  static constexpr std::string_view kName = "flatten";

  static config::Section<Flatten> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// The same elements with another shape; one extent may be -1, which is then inferred.
struct Reshape : LayerCommon {
  static constexpr std::string_view kName = "reshape";
  static constexpr std::string_view kAliases = "view";
  static constexpr auto kAdvice = std::to_array<config::Advice>(
      {{"squeeze, expand_dims, unsqueeze", "write reshape: {target_shape: [...]}, with all axes of an example"}});
  std::vector<std::int64_t> target_shape;

  static config::Section<Reshape> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// The axes of each example in another order.
struct Permute : LayerCommon {
  static constexpr std::string_view kName = "permute";
  std::vector<std::int64_t> dims;

  static config::Section<Permute> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// Reverses the elements of each example along an axis, together with its mask.
struct Flip : LayerCommon {
  static constexpr std::string_view kName = "flip";
  static constexpr std::string_view kAliases = "reverse";
  static constexpr Masking kMasking = Masking::kOwn;
  std::int64_t axis = 1;

  static config::Section<Flip> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

}  // namespace mirrortrain::layers
