#include "model/layers/reuse.h"

#include <stdexcept>

namespace mirrortrain::layers {

config::Section<Reuse> Reuse::section() {
  return config::Section<Reuse>(
             "Calls an earlier layer, or a use of a block, once more, with the same weights, on other inputs. Of a use "
             "of a block each layer is called; `name` is then their names' prefix, and `inputs` the one layer that the "
             "block follows.")
      .key("layer", &Reuse::layer, "Name of the layer, or of the use of a block.", config::required, config::non_empty)
      .key("reverse", &Reuse::reverse,
           "Whether a reversible_embedding is called in reverse, from vectors to logits of its numbers.")
      .include<LayerConnections>();
}

ValueId Reuse::build(LayerBuilder&, std::span<const ValueId>) const {
  throw std::logic_error("a reuse is built as the layer that it names");
}

}  // namespace mirrortrain::layers
