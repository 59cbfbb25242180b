#include "model/layers/global_average_pooling2d.h"

#include "graph/ops/pool2d.h"

namespace mirrortrain::layers {

config::Section<GlobalAveragePooling2d> GlobalAveragePooling2d::section() {
  return config::Section<GlobalAveragePooling2d>("The mean over height and width.").include<LayerCommon>();
}

ValueId GlobalAveragePooling2d::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  builder.image(sources[0]);
  return builder.apply(ops::GlobalAveragePool2d{}, {sources[0]});
}

}  // namespace mirrortrain::layers
