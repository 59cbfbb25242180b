#include "model/layers/flatten.h"

#include "graph/ops/elementwise.h"

namespace mirrortrain::layers {

config::Section<Flatten> Flatten::section() {
  return config::Section<Flatten>("Each example as one row of features.").include<LayerCommon>();
}

ValueId Flatten::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  return builder.apply(ops::Reshape({builder.shape(sources[0]).elements()}), {sources[0]});
}

}  // namespace mirrortrain::layers
