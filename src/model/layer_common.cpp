#include "model/layer_common.h"

namespace mirrortrain {

config::Section<LayerConnections> LayerConnections::section() {
  return config::Section<LayerConnections>("Connections of a layer with others.")
      .key("name", &LayerConnections::name,
           "Name of the layer and prefix of its variables; default: its type, numbered.",
           // Letters of any script; `input` is the model's.
           config::matches("^(?!input$)([A-Za-z0-9_.-]|[^\\x00-\\x7F])+$"))
      .key(
          "inputs", &LayerConnections::inputs,
          "Names of the layers whose outputs are the inputs of this layer, or of inputs of the model (`input` where it "
          "has one); default: the previous layer.");
}

config::Section<LayerCommon> LayerCommon::section() {
  return config::Section<LayerCommon>("The options of every layer.")
      .advice("dtype", "the whole model computes in training.precision: float32 or mixed_bfloat16; leave it out")
      .include<LayerConnections>()
      .key("trainable", &LayerCommon::trainable, "Whether the layer's variables are trained; false freezes them.")
      .key("activity_regularizer", &LayerCommon::activity_regularizer,
           "Regularizer of the layer's output: adds l1 * sum(|y|) + l2 * sum(y^2) of each example to its loss; null: "
           "none.",
           config::aliases("output_regularizer"))
      .check("activity_regularizer", [](const LayerCommon& layer) -> std::string {
        const bool is_of_angles = layer.activity_regularizer && layer.activity_regularizer->orthogonal_regularizer;
        return is_of_angles ? "orthogonal_regularizer is for weights; move it to kernel_regularizer" : "";
      });
}

}  // namespace mirrortrain
