#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <type_traits>

#include "graph/ops/upsample2d.h"
#include "model/layer_builder.h"
#include "model/layer_common.h"
#include "model/padding.h"

namespace mirrortrain::layers {

/// How many elements before and behind each of the axes before the channels: for sequences [before, behind], else
/// [[before, behind], ...].
template <std::size_t kAxes>
using Edges = std::conditional_t<kAxes == 1, std::array<std::int64_t, 2>,
                                 std::array<std::array<std::int64_t, 2>, kAxes == 1 ? 1 : kAxes>>;

template <std::size_t kAxes>
constexpr Edges<kAxes> equal_edges(std::int64_t elements) {
  Edges<kAxes> edges{};
  if constexpr (kAxes == 1) {
    edges.fill(elements);
  } else {
    for (auto& axis : edges) axis.fill(elements);
  }
  return edges;
}

/// Zeros around each example: [..., channels] -> larger before the channels.
template <std::size_t kAxes>
struct ZeroPadding : LayerCommon {
  static constexpr std::string_view kName = by_axes<kAxes>("zero_padding1d", "zero_padding2d", "zero_padding3d");
  static constexpr std::string_view kAliases = by_axes<kAxes>("zero_pad1d", "zero_pad2d", "zero_pad3d");
  Edges<kAxes> padding = equal_edges<kAxes>(1);

  static config::Section<ZeroPadding> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// Each example without elements at its edges: [..., channels] -> smaller before the channels.
template <std::size_t kAxes>
struct Cropping : LayerCommon {
  static constexpr std::string_view kName = by_axes<kAxes>("cropping1d", "cropping2d", "cropping3d");
  Edges<kAxes> cropping = equal_edges<kAxes>(kAxes == 2 ? 0 : 1);

  static config::Section<Cropping> section();
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

/// Sequences and volumes, [..., channels], with each element repeated `size` times along each axis.
template <std::size_t kAxes>
struct Upsampling : LayerCommon {
  static constexpr std::string_view kName = by_axes<kAxes>("upsampling1d", "", "upsampling3d");
  std::array<std::int64_t, kAxes> size = ops::filled<kAxes>(2);

  static config::Section<Upsampling> section();
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
