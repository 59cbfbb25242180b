#include "keras/writing/write_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "keras/class_names.h"
#include "keras/writing/layers_writer.h"
#include "keras/writing/to_json.h"
#include "keras/writing/write_inputs.h"
#include "keras/writing/write_masks.h"

namespace mirrortrain::keras {
namespace {

using config::Value;

/// The types of a layer and of that inside of a wrapper.
std::vector<std::string> types_of(const Layer& layer) {
  return config::visit(
      [](const auto& options) {
        std::vector<std::string> types = {std::string(options.kName)};
        if constexpr (requires { options.layer.index(); }) {
          config::visit([&](const auto& inner) { types.emplace_back(inner.kName); }, options.layer);
        }
        return types;
      },
      layer);
}

Json call_options_of(const Layer& layer) {
  return config::visit(
      [](const auto& options) -> Json {
        if constexpr (requires { options.use_causal_mask; }) {
          if (options.use_causal_mask) return {{"use_causal_mask", true}};
        }
        return Json::object();
      },
      layer);
}

}  // namespace

LayersWriter::LayersWriter(const KerasExport& what, Problems& problems, std::vector<std::string>& remarks)
    : what_(what),
      problems_(problems),
      remarks_(remarks),
      graph_(what.precision != Precision::kFloat32),
      weights_(what) {
  for (const LayerSummary& layer : what.built.layers) shapes_[layer.name] = layer.output_shape;
  for (const std::string& name : what.wiring.names) graph_.names().take(name);
  masked_ = layers_with_masks(what, shapes_);
  for (const auto& layer : what.model.layers) {
    const auto* const dense = config::get_if<layers::Dense>(&layer.value);
    if (dense != nullptr && dense->tied_to) tied_.insert(*dense->tied_to);
  }
}

WrittenModel LayersWriter::write() {
  WrittenInputs inputs = write_inputs(what_, graph_, problems_, remarks_);
  sources_ = std::move(inputs.sources);
  keep_clear_of_mask_operations();
  const Wiring& wiring = what_.wiring;
  for (std::size_t i = 0; i < what_.model.layers.size(); ++i) {
    values_.push_back({});
    if (!wiring.used[i]) {
      remarks_.push_back(fmt::format("the layer '{}' was left out, as no output depends on it", wiring.names[i]));
      continue;
    }
    add_layer(i);
  }
  std::vector<WrittenTensor> outputs;
  for (const std::size_t output : wiring.outputs) outputs.push_back(values_[output]);
  WrittenModel model{graph_.config(what_.name, inputs.inputs, outputs), {}, {}, {}};
  if (problems_.empty()) weights_.place(graph_.groups(outputs), model);
  return model;
}

WrittenTensor LayersWriter::source(int number) const {
  return what_.wiring.is_input(number) ? sources_[static_cast<std::size_t>(number)]
                                       : values_[what_.wiring.layer_of(number)];
}

/// What a layer of this type is called on.
Json LayersWriter::arguments_of(const std::string& type, std::size_t layer) {
  Json tensors = Json::array();
  for (const int number : what_.wiring.sources[layer]) {
    const bool is_taken_off = type == "multi_head_attention" && is_masked(number);
    tensors.push_back(GraphWriter::tensor_json(is_taken_off ? copy_with_mask(number) : source(number)));
  }
  const bool is_projected = type == "multi_head_attention" || type == "group_query_attention";
  if (is_projected && tensors.size() == 1) tensors.push_back(tensors[0]);
  constexpr std::array kOfLists = {"add",     "subtract",    "multiply", "average",   "maximum",
                                   "minimum", "concatenate", "dot",      "attention", "additive_attention"};
  return std::ranges::count(kOfLists, type) > 0 ? Json::array({std::move(tensors)}) : tensors;
}

void LayersWriter::add_layer(std::size_t i) {
  const std::string& name = what_.wiring.names[i];
  const Layer& layer = what_.model.layers[i].value;
  const std::string where = fmt::format("layer '{}' ({})", name, type_name(layer));
  const std::size_t owner = what_.wiring.weights_of[i];
  if (owner != i) return add_reuse(i, owner, where);
  if (add_said_otherwise(i, where)) return;
  refuse_reversed_mask(i, layer, where);
  refuse_unused_mask(i, layer, where);
  const std::vector<std::string> types = written_types(layer, name);
  values_[i] = graph_.add(class_named(types.front()), name, config_of(layer, name, where),
                          arguments_of(types.front(), i), shapes_[name], call_options_of(layer));
  weights_.add(name, types);
}

/// An embedding that a dense layer is tied to is a reversible one there.
std::vector<std::string> LayersWriter::written_types(const Layer& layer, const std::string& name) const {
  std::vector<std::string> types = types_of(layer);
  if (types.front() == "embedding" && tied_.contains(name)) types.front() = "reversible_embedding";
  return types;
}

Json LayersWriter::config_of(const Layer& layer, const std::string& name, const std::string& where) {
  const Value shown = config::Codec<Layer>::show(layer);
  const std::string type(type_name(layer));
  const auto part = std::ranges::find(schema_of<Layer>().parts, type, &config::Schema::name);
  const Value& options = shown.entries().front().value;
  for (const char* const key : {"lora_rank", "tied_to", "rope_max_wavelength"}) {
    const Value::Entry* const given = options.find(key);
    if (given != nullptr && !given->value.is_null())
      problems_.add(where, fmt::format("{} is nothing that Keras saves", key));
  }
  Json config = options_json(options, *part, where, problems_,
                             {"name", "inputs", "use_causal_mask", "use_query_mask", "trainable", "lora_rank",
                              "lora_alpha", "tied_to", "rope_max_wavelength"});
  if (type.starts_with("average_pooling")) {  // which Keras requires
    const auto key = std::ranges::find(part->keys, "pool_size", &config::Schema::Key::name);
    config["pool_size"] = to_json(options.find("pool_size")->value, key->type, where, problems_);
  }
  const bool is_frozen = !common_options(layer).trainable || what_.model.freezes(name);
  const bool has_weights = what_.weights.lower_bound(name + "/") != what_.weights.lower_bound(name + "0");
  if (is_frozen && has_weights) config["trainable"] = false;
  return config;
}

bool LayersWriter::trains(std::size_t i) const {
  return common_options(what_.model.layers[i].value).trainable && !what_.model.freezes(what_.wiring.names[i]);
}

void LayersWriter::add_reuse(std::size_t i, std::size_t owner, const std::string& where) {
  const Layer& layer = what_.model.layers[owner].value;
  const std::string& name = what_.wiring.names[owner];
  const auto* const reuse = config::get_if<layers::Reuse>(&what_.model.layers[i].value);
  const bool is_said_otherwise = config::holds_alternative<layers::ClassToken>(layer) ||
                                 config::holds_alternative<layers::PositionEmbedding>(layer) ||
                                 config::holds_alternative<layers::Flip>(layer);
  if (is_said_otherwise) {
    return problems_.add(where, "reuses a layer that Keras has not; write it once more, with weights of its own");
  }
  if (config::holds_alternative<layers::Expression>(layer)) return;  // reported at its own place
  Json options = call_options_of(layer);
  if (reuse != nullptr && reuse->reverse) options["reverse"] = true;
  values_[i] = graph_.call(name, arguments_of(written_types(layer, name).front(), i), shapes_[what_.wiring.names[i]],
                           std::move(options));
}

WrittenModel write_layers(const KerasExport& what, Problems& problems, std::vector<std::string>& remarks) {
  return LayersWriter(what, problems, remarks).write();
}

}  // namespace mirrortrain::keras
