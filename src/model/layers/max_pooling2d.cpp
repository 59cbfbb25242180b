#include "model/layers/max_pooling2d.h"

namespace mirrortrain::layers {

config::Section<MaxPooling2d> MaxPooling2d::section() {
  return config::Section<MaxPooling2d>("The maximum of each window.").include<Pool2dOptions>();
}

ValueId MaxPooling2d::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  builder.image(sources[0]);
  return builder.apply(ops::MaxPool2d(attributes()), {sources[0]});
}

}  // namespace mirrortrain::layers
