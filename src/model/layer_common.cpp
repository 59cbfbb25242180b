#include "model/layer_common.h"

namespace mirrortrain {

config::Section<LayerCommon> LayerCommon::section() {
  return config::Section<LayerCommon>("The options of every layer.")
      .key("name", &LayerCommon::name, "Name of the layer and prefix of its variables; default: its type, numbered.",
           // Letters of any script; `input` is the model's.
           config::matches("^(?!input$)([A-Za-z0-9_.-]|[^\\x00-\\x7F])+$"))
      .key("inputs", &LayerCommon::inputs,
           "Names of the layers, or `input`, whose outputs are the inputs of this layer; default: the previous layer.")
      .key("trainable", &LayerCommon::trainable, "Whether the layer's variables are trained; false freezes them.");
}

}  // namespace mirrortrain
