#include "model/layers/spatial_size.h"

#include <fmt/format.h>

#include <vector>

#include "base/error.h"
#include "graph/ops/arrange.h"
#include "graph/ops/elementwise.h"
#include "model/layers/along_axis.h"

namespace mirrortrain::layers {
namespace {

using config::at_least, config::at_most, config::scalar_fills;

template <std::size_t kAxes>
constexpr std::string_view kExamples = by_axes<kAxes>("sequences", "images", "volumes");

/// How edges are written.
template <std::size_t kAxes>
constexpr std::string_view kEdges = by_axes<kAxes>(
    "[before the first step, behind the last], or one number for both",
    "[[top, bottom], [left, right]], or [height, width] for both sides, or one number for all",
    "[[front, back], [top, bottom], [left, right]], or [depth, height, width] for both sides, or one number for all");

struct PadOrCrop {
  std::vector<std::int64_t> before, behind;

  /// Nothing of the channels.
  template <std::size_t kAxes>
  explicit PadOrCrop(const std::array<std::array<std::int64_t, 2>, kAxes>& edges) {
    for (const auto& [first, last] : edges) {
      before.push_back(first);
      behind.push_back(last);
    }
    before.push_back(0);
    behind.push_back(0);
  }
  explicit PadOrCrop(const std::array<std::int64_t, 2>& edges)
      : PadOrCrop(std::array<std::array<std::int64_t, 2>, 1>{edges}) {}
};

}  // namespace

template <std::size_t kAxes>
config::Section<ZeroPadding<kAxes>> ZeroPadding<kAxes>::section() {
  const std::string what = kAxes == 2 ? "Adds lines and columns of zeros around images."
                                      : fmt::format("Adds zeros around {}.", kExamples<kAxes>);
  return config::Section<ZeroPadding>(what)
      .key("padding", &ZeroPadding::padding, fmt::format("{}.", kEdges<kAxes>), scalar_fills, at_least(0),
           at_most(kLongestWindow), config::aliases("pad"))
      .template include<LayerCommon>();
}

template <std::size_t kAxes>
ValueId ZeroPadding<kAxes>::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  builder.spatial(sources[0], kAxes);
  const PadOrCrop edges(padding);
  return builder.apply(ops::Pad(edges.before, edges.behind), {sources[0]});
}

template <std::size_t kAxes>
config::Section<Cropping<kAxes>> Cropping<kAxes>::section() {
  return config::Section<Cropping>(fmt::format("Crops {} at their edges.", kExamples<kAxes>))
      .key("cropping", &Cropping::cropping, fmt::format("How much to remove: {}.", kEdges<kAxes>), scalar_fills,
           at_least(0))
      .template include<LayerCommon>();
}

template <std::size_t kAxes>
ValueId Cropping<kAxes>::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const Shape& shape = builder.spatial(sources[0], kAxes);
  const PadOrCrop edges(cropping);
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    const std::int64_t before = edges.before[axis], behind = edges.behind[axis];
    if (before < shape[axis] && behind < shape[axis] - before) continue;
    constexpr std::array<std::string_view, 3> kNames{"a depth", "a height", "a width"};
    throw Error(fmt::format("expected {} of more than the {} + {} {} that are removed, found {}",
                            kAxes == 1 ? "a sequence" : kNames[axis + 3 - kAxes], before, behind,
                            kAxes == 1 ? "steps" : "elements", builder.described(sources[0])));
  }
  return builder.apply(ops::Crop(edges.before, edges.behind), {sources[0]});
}

config::Section<Upsampling2d> Upsampling2d::section() {
  return config::Section<Upsampling2d>("Enlarges images by whole factors.")
      .key("size", &Upsampling2d::size, "Factors for height and width, or one number.", scalar_fills, at_least(1),
           at_most(kLongestWindow))
      .key("interpolation", &Upsampling2d::interpolation,
           "nearest: repeats pixels; bilinear: interpolates between their centers; bicubic, lanczos3, lanczos5: from "
           "4, 6 or 10 pixels along each axis.",
           config::aliases("mode"))
      .include<LayerCommon>();
}

ValueId Upsampling2d::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  builder.image(sources[0]);
  using ops::Interpolation;
  const bool is_wide = interpolation != Interpolation::kNearest && interpolation != Interpolation::kBilinear;
  if (!is_wide || size[0] == 1 || size[1] == 1) {
    return builder.apply(ops::Upsample2d(size, interpolation), {sources[0]});
  }
  // One axis after the other: 10 + 10 instead of 100 pixels per element.
  const ValueId higher = builder.apply(ops::Upsample2d({size[0], 1}, interpolation), {sources[0]});
  return builder.apply(ops::Upsample2d({1, size[1]}, interpolation), {higher});
}

template <std::size_t kAxes>
config::Section<Upsampling<kAxes>> Upsampling<kAxes>::section() {
  return config::Section<Upsampling>(
             fmt::format("Enlarges {} by whole factors: repeats their elements.", kExamples<kAxes>))
      .key(
          "size", &Upsampling::size,
          by_axes<kAxes>("How often each step is repeated.", "", "Factors for depth, height and width, or one number."),
          scalar_fills, at_least(1), at_most(kLongestWindow))
      .template include<LayerCommon>();
}

template <std::size_t kAxes>
ValueId Upsampling<kAxes>::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  builder.spatial(sources[0], kAxes);
  ValueId value = sources[0];
  for (std::size_t axis = kAxes; axis-- > 0;) value = copies(builder.graph(), value, axis, size[axis]);
  return value;
}

template struct ZeroPadding<1>;
template struct ZeroPadding<2>;
template struct ZeroPadding<3>;
template struct Cropping<1>;
template struct Cropping<2>;
template struct Cropping<3>;
template struct Upsampling<1>;
template struct Upsampling<3>;

}  // namespace mirrortrain::layers
