#include "model/layers/average_pooling2d.h"

namespace mirrortrain::layers {

config::Section<AveragePooling2d> AveragePooling2d::section() {
  return config::Section<AveragePooling2d>("The mean of each window; padding does not count.").include<Pool2dOptions>();
}

ValueId AveragePooling2d::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  builder.image(sources[0]);
  return builder.apply(ops::AveragePool2d(attributes()), {sources[0]});
}

}  // namespace mirrortrain::layers
