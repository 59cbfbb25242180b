#include "model/layers/add.h"

#include <fmt/format.h>

#include "base/error.h"
#include "graph/ops/elementwise.h"

namespace mirrortrain::layers {

config::Section<Add> Add::section() {
  return config::Section<Add>("Adds its inputs element by element.").include<LayerCommon>();
}

ValueId Add::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const Shape& first = builder.shape(sources[0]);
  for (const ValueId source : sources) {
    if (builder.shape(source) == first) continue;
    throw Error(fmt::format("expected inputs of one shape, found the shapes {} and {}", builder.described(sources[0]),
                            builder.described(source)));
  }
  return builder.apply(ops::AddN{}, {sources.begin(), sources.end()});
}

}  // namespace mirrortrain::layers
