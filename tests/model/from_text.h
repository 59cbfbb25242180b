#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/document.h"
#include "model/blocks.h"
#include "model/build_described.h"
#include "model/optimizers.h"

namespace mirrortrain {

/// The sections that describe a model and its training.
struct Description {
  ModelOptions model;
  LossOptions loss{{{losses::MeanSquaredError{}, {}, "loss"}}, {}};
  MetricOptions metrics;
  Optimizers optimizer;
  Precision precision = Precision::kFloat32;

  static config::Section<Description> section() {
    return config::Section<Description>("A model and how it is trained.")
        .key("model", &Description::model, "The network.")
        .key("loss", &Description::loss, "The loss.")
        .key("metrics", &Description::metrics, "The metrics.")
        .key("optimizer", &Description::optimizer, "The optimizer.")
        .key("precision", &Description::precision, "The precision.");
  }
};

struct Built {
  Description description;
  Model model;
  std::string errors;  ///< "" where there are none
  std::vector<std::string> warnings;
};

/// Reads the text, as the file a.yaml, and builds the model.
inline Built build_from(std::string_view text) {
  config::Errors errors;
  config::Document document = config::load_text(text, "a.yaml", {}, errors);
  expand_blocks(document.root, errors);
  Built built{config::read<Description>(document, errors), {}, "", {}};
  const Description& description = built.description;
  built.model =
      build_described(description.model, description.loss, description.metrics, description.precision, errors);
  if (!errors.empty()) built.errors = errors.text();
  built.warnings = errors.warnings();
  return built;
}

/// As build_from, with the lines of `layers` below model.layers, mean_squared_error and nothing else.
inline Built build_layers(const std::string& input_shape, const std::string& layers) {
  return build_from("model:\n  input_shape: " + input_shape + "\n  layers:\n" + layers + "loss: mean_squared_error\n");
}

/// The nodes' op names in order: "dense activation loss".
inline std::string op_names(const Graph& graph) {
  std::string names;
  for (const Node& node : graph.nodes()) names += (names.empty() ? "" : " ") + std::string(node.op->name());
  return names;
}

inline std::vector<std::string> variable_names(const Model& model) {
  std::vector<std::string> names;
  for (const ModelVariable& variable : model.variables) names.push_back(variable.spec.name);
  return names;
}

}  // namespace mirrortrain
