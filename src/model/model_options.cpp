#include "model/model_options.h"

namespace mirrortrain {

config::Section<ModelOptions> ModelOptions::section() {
  return config::Section<ModelOptions>("The model, from its input to its output.")
      .key("input_shape", &ModelOptions::input_shape,
           "Shape of one example, without the batch axis; images are [height, width, channels].", config::required,
           config::non_empty, config::at_least(1))
      .key("initial_weights", &ModelOptions::initial_weights,
           "A safetensors file with the initial values of all variables, by name, or a file of another program with "
           "its own names; null: the layers' initializers.")
      .key("blocks", &ModelOptions::blocks,
           "Parts of a model by name, as {parameters: {NAME: default, ...}, layers: [...]}, to be used among the "
           "layers as "
           "`- BLOCK: {NAME: value, name: PREFIX, inputs: [LAYER]}`; `$NAME` in a block is the parameter's value, "
           "`${NAME}` its text within a text, and `input` what comes into the block. A parameter whose default is "
           "null "
           "must be given. The resolved configuration has them written out.")
      .key("layers", &ModelOptions::layers,
           "The layers; the input of each is the output of the previous one unless it names others. `- repeat: "
           "{times: N, "
           "first: 1, layers: [...]}` stands for the layers N times; their names get the number, unless they say "
           "`${number}` themselves.",
           config::required, config::non_empty, config::written_out("repeat", "blocks"))
      .check("input_shape", [](const ModelOptions& options) -> std::string {
        const Shape shape(options.input_shape.value);
        return is_possible(shape) ? "" : shape.text() + " has more elements than any memory can hold";
      });
}

}  // namespace mirrortrain
