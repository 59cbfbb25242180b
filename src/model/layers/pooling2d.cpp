#include "model/layers/pooling2d.h"

namespace mirrortrain::layers {

config::Section<MaxPooling2d> MaxPooling2d::section() {
  return config::Section<MaxPooling2d>("2D max pooling: the maximum of each window.").include<Pool2dOptions>();
}

ValueId MaxPooling2d::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  builder.image(sources[0]);
  return builder.apply(ops::MaxPool2d(attributes()), {sources[0]});
}

config::Section<AveragePooling2d> AveragePooling2d::section() {
  return config::Section<AveragePooling2d>("2D average pooling: the mean of each window, padding not counted.")
      .include<Pool2dOptions>();
}

ValueId AveragePooling2d::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  builder.image(sources[0]);
  return builder.apply(ops::AveragePool2d(attributes()), {sources[0]});
}

config::Section<GlobalAveragePooling2d> GlobalAveragePooling2d::section() {
  return config::Section<GlobalAveragePooling2d>("Global average pooling: the mean over height and width.")
      .include<LayerCommon>();
}

ValueId GlobalAveragePooling2d::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  builder.image(sources[0]);
  return builder.apply(ops::GlobalAveragePool2d{}, {sources[0]});
}

}  // namespace mirrortrain::layers
