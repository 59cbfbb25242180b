#include "model/layers/softmax.h"

#include "graph/ops/elementwise.h"

namespace mirrortrain::layers {

config::Section<Softmax> Softmax::section() {
  return config::Section<Softmax>("exp(x) / sum(exp(x)) over the last axis.").include<LayerCommon>();
}

ValueId Softmax::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  builder.features(sources[0]);
  return builder.apply(ops::Softmax{}, {sources[0]});
}

}  // namespace mirrortrain::layers
