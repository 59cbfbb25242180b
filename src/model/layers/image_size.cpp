#include "model/layers/image_size.h"

#include "graph/ops/arrange.h"

namespace mirrortrain::layers {

config::Section<ZeroPadding2d> ZeroPadding2d::section() {
  return config::Section<ZeroPadding2d>("Adds lines and columns of zeros around images.")
      .key("padding", &ZeroPadding2d::padding,
           "[[top, bottom], [left, right]], or [height, width] for both sides, or one number for all.",
           config::scalar_fills, config::at_least(0), config::at_most(kLongestWindow))
      .include<LayerCommon>();
}

ValueId ZeroPadding2d::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  builder.image(sources[0]);
  const auto& [lines, columns] = padding;
  return builder.apply(ops::Pad({lines[0], columns[0], 0}, {lines[1], columns[1], 0}), {sources[0]});
}

config::Section<Upsampling2d> Upsampling2d::section() {
  return config::Section<Upsampling2d>("Enlarges images by whole factors.")
      .key("size", &Upsampling2d::size, "Factors for height and width, or one number.", config::scalar_fills,
           config::at_least(1), config::at_most(kLongestWindow))
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

}  // namespace mirrortrain::layers
