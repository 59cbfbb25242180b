#include "model/model_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/glob.h"
#include "base/utf8.h"
#include "config/known_names.h"
#include "config/schema.h"

namespace mirrortrain {
config::Section<InputOptions> InputOptions::section() {
  return config::Section<InputOptions>("An input of the model.")
      .key("shape", &InputOptions::shape, "Shape of one example, without the batch axis; [] for a single number.",
           config::required, config::at_least(1))
      .check("shape", [](const InputOptions& options) -> std::string {
        const Shape shape(options.shape.value);
        return shape.is_possible() ? "" : shape.text() + " has more elements than any memory can hold";
      });
}

std::vector<ModelInputOptions> ModelOptions::all_inputs() const {
  std::vector<ModelInputOptions> all;
  for (const auto& [name, input] : inputs.value.entries) {
    all.push_back({name, Shape(input.shape.value), input.shape.place, input.shape.path});
  }
  if (all.empty() && input_shape.value && !input_shape.value->empty()) {
    all.push_back({"input", Shape(*input_shape.value), input_shape.place, input_shape.path});
  }
  return all;
}

config::Section<ModelOptions> ModelOptions::section() {
  return config::Section<ModelOptions>("The model, from its input to its output.")
      .advice("num_classes, n_classes",
              "the classes are the outputs: give the last layer of model.layers as many units")
      .advice("in_features, in_channels, num_features, normalized_shape",
              "a layer takes the size of its input from the layer before; leave it out")
      .advice("data_format", "images are [height, width, channels], channels last; leave it out")
      .key("input_shape", &ModelOptions::input_shape,
           "Shape of one example, without the batch axis; images are [height, width, channels].",
           config::required_unless("inputs", {}), config::non_empty, config::at_least(1),
           config::aliases("input_size, input_dim, shape, input"),
           config::advice("null, none, -1", "it is the shape of one example: leave the axis of the batch out"))
      .key("inputs", &ModelOptions::inputs,
           "In place of `input_shape`, for a model with several inputs, or one with a name of its own: each input's "
           "name and shape, as {user: {shape: []}, picture: {shape: [32, 32, 3]}}. Layers name them in their `inputs`.",
           config::excludes("input_shape"),
           config::advice("a list", "name each with its shape, as {user: {shape: []}, picture: {shape: [32, 32, 3]}}"))
      .key("outputs", &ModelOptions::outputs, "Names of the layers that are the model's outputs; null: the last one.",
           config::non_empty,
           config::advice("a number", "name the layer, as [rating, clicked]; a layer gets a name by `name` there"),
           config::advice("a mapping",
                          "list the layers' names, as [rating, clicked]; an output has its layer's name, "
                          "which is set by `name` there"))
      .key("initial_weights", &ModelOptions::initial_weights,
           "A file with the initial values of all variables, by name, or a file of another program with its own names: "
           "safetensors, the index of several (model.safetensors.index.json), or .keras, .weights.h5 and .h5 of Keras; "
           "null: the layers' initializers.",
           config::aliases("weights, pretrained, load"))
      .key("freeze", &ModelOptions::freeze,
           "Globs of layers that are not trained, as `conv*`, and of uses of blocks, as `encoder`. A frozen batch "
           "normalization takes "
           "its moving statistics.")
      .key(
          "recompute", &ModelOptions::recompute,
          "Layers whose activations are not kept for the backward pass but computed again in it, for less memory and "
          "the same numbers: globs of uses of blocks, as `block_*`, and of layers, each by itself; or a list of layers "
          "that are recomputed together.",
          config::aliases("remat, checkpoint_activations, gradient_checkpointing, activation_checkpointing"))
      .key(
          "blocks", &ModelOptions::blocks,
          "Parts of a model by name, as {parameters: {NAME: default, ...}, layers: [...]}, to be used among the layers "
          "as `- BLOCK: {NAME: value, name: PREFIX, inputs: [LAYER]}`; `$NAME` in a block is the parameter's value, "
          "`${NAME}` its text within a text, and `input` what comes into the block. A parameter whose default is null "
          "must be given. The resolved configuration has them written out.")
      .key("layers", &ModelOptions::layers,
           "The layers; the input of each is the output of the previous one unless it names others. `- repeat: {times: "
           "N, first: 1, layers: [...]}` stands for the layers N times; their names get the number, unless they say "
           "`${number}` themselves.",
           config::required, config::non_empty, config::written_out("repeat", "blocks"))
      .check("input_shape", [](const ModelOptions& options) -> std::string {
        const Shape shape(options.input_shape.value.value_or(std::vector<std::int64_t>{}));
        return shape.is_possible() ? "" : shape.text() + " has more elements than any memory can hold";
      });
}

bool ModelOptions::freezes(const std::string& layer) const {
  return std::ranges::any_of(freeze.value, [&](const std::string& glob) { return matches_glob(glob, layer); });
}

std::map<std::string, int> ModelOptions::recomputed_units(const std::vector<std::string>& names) const {
  std::map<std::string, int> units;
  int unit = 0;
  for (const RecomputedLayers& item : recompute.value) {
    if (const auto* const together = std::get_if<std::vector<std::string>>(&item)) {
      for (const std::string& layer : *together) units.try_emplace(layer, unit);
      ++unit;
      continue;
    }
    for (const std::string& layer : names) {
      if (matches_glob(std::get<std::string>(item), layer)) units.try_emplace(layer, unit++);
    }
  }
  return units;
}

void check_recompute(const ModelOptions& options, const std::vector<std::string>& layers, config::Errors& errors) {
  for (const RecomputedLayers& item : options.recompute.value) {
    const auto* const together = std::get_if<std::vector<std::string>>(&item);
    if (together != nullptr && together->empty()) {
      errors.add(options.recompute.place, options.recompute.path,
                 "expected names of layers that are recomputed together, found an empty list; write them there, or "
                 "leave it out");
    }
    for (const std::string& glob : together != nullptr ? *together : std::vector{std::get<std::string>(item)}) {
      if (std::ranges::any_of(layers, [&](const auto& layer) { return matches_glob(glob, layer); })) continue;
      errors.add(options.recompute.place, options.recompute.path,
                 fmt::format("'{}' matches no layer and no use of a block{}", shortened(glob, 200),
                             config::suggestion_or_known(glob, layers)));
    }
  }
}

void check_freeze(const ModelOptions& options, const std::vector<std::string>& layers,
                  const std::vector<std::size_t>& weights_of, config::Errors& errors) {
  for (const std::string& glob : options.freeze.value) {
    std::vector<std::size_t> matching;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (matches_glob(glob, layers[i])) matching.push_back(i);
    }
    const auto has_weights = [&](std::size_t layer) { return weights_of[layer] == layer; };
    if (std::ranges::any_of(matching, has_weights)) continue;
    if (!matching.empty()) {
      errors.add(options.freeze.place, options.freeze.path,
                 fmt::format("'{}' matches reuses alone, whose weights are those of other layers; name these, as '{}'",
                             shortened(glob, 200), layers[weights_of[matching.front()]]));
      continue;
    }
    const auto is_inside = [&](const std::string& layer) { return matches_glob(glob + "_*", layer); };
    const bool is_block = std::ranges::any_of(layers, is_inside);
    const std::string of_variable = glob.substr(0, std::min(glob.rfind('/'), glob.size()));
    const bool is_variable =
        std::ranges::any_of(layers, [&](const auto& layer) { return matches_glob(of_variable, layer); });
    errors.add(options.freeze.place, options.freeze.path,
               fmt::format("'{}' matches no layer of the model{}", shortened(glob, 200),
                           is_block      ? fmt::format("; for all layers of the block write '{}_*'", glob)
                           : is_variable ? fmt::format("; layers are frozen whole: write '{}'", of_variable)
                                         : config::suggestion_or_known(glob, layers)));
  }
}

}  // namespace mirrortrain
