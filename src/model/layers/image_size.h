#pragma once

#include <array>
#include <span>

#include "graph/ops/upsample2d.h"
#include "model/layer_builder.h"
#include "model/layer_common.h"
#include "model/padding.h"

namespace mirrortrain::layers {

/// [height, width, channels] -> [top + height + bottom, left + width + right, channels], with zeros around.
struct ZeroPadding2d : LayerCommon {
  static constexpr std::string_view kName = "zero_padding2d";
  static constexpr std::string_view kAliases = "zero_pad2d";
  std::array<std::array<std::int64_t, 2>, 2> padding{{{1, 1}, {1, 1}}};  ///< {top, bottom}, {left, right}

  static config::Section<ZeroPadding2d> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// [height, width, channels] -> [height size[0], width size[1], channels].
struct Upsampling2d : LayerCommon {
  static constexpr std::string_view kName = "upsampling2d";
  static constexpr std::string_view kAliases = "upsample";
  std::array<std::int64_t, 2> size{2, 2};
  ops::Interpolation interpolation = ops::Interpolation::kNearest;

  static config::Section<Upsampling2d> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

}  // namespace mirrortrain::layers

template <>
struct mirrortrain::config::EnumNames<mirrortrain::ops::Interpolation> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::ops::Interpolation>>({
      {"nearest", mirrortrain::ops::Interpolation::kNearest},
      {"bilinear", mirrortrain::ops::Interpolation::kBilinear},
      {"bicubic", mirrortrain::ops::Interpolation::kBicubic},
      {"lanczos3", mirrortrain::ops::Interpolation::kLanczos3},
      {"lanczos5", mirrortrain::ops::Interpolation::kLanczos5},
  });
};
