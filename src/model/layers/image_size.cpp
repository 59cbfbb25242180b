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
           "nearest: repeats pixels; bilinear: interpolates between their centers.")
      .include<LayerCommon>();
}

ValueId Upsampling2d::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  builder.image(sources[0]);
  return builder.apply(ops::Upsample2d(size, interpolation), {sources[0]});
}

}  // namespace mirrortrain::layers
