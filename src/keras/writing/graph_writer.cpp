#include "keras/writing/graph_writer.h"

#include <fmt/format.h>

#include <utility>

#include "keras/weight_paths.h"
#include "keras/writing/to_json.h"

namespace mirrortrain::keras {
namespace {

Json history(const WrittenTensor& tensor) { return Json::array({tensor.layer, tensor.call, 0}); }

/// One tensor is itself, several are a list.
Json ends(const std::vector<WrittenTensor>& tensors) {
  if (tensors.size() == 1) return history(tensors[0]);
  Json all = Json::array();
  for (const WrittenTensor& tensor : tensors) all.push_back(history(tensor));
  return all;
}

Json batched(const std::vector<std::optional<std::int64_t>>& shape) {
  Json dims = Json::array({nullptr});
  for (const auto& extent : shape) dims.push_back(extent ? Json(*extent) : Json(nullptr));
  return dims;
}

/// The tensors among arguments, in their order.
void add_sources(const Json& arguments, std::vector<LayerCall>& sources) {
  if (arguments.is_object() && arguments.contains("keras_history")) {
    const Json& from = arguments["keras_history"];
    sources.emplace_back(from[0].get<std::string>(), from[1].get<std::size_t>());
  } else if (arguments.is_structured()) {
    for (const Json& part : arguments) add_sources(part, sources);
  }
}

/// Replaces layers' names in histories: ["dense", 0, 0].
void rename_in(Json& json, const std::map<std::string, std::string>& names) {
  const bool is_history = json.is_array() && json.size() == 3 && json[0].is_string() && json[1].is_number_integer();
  if (is_history) {
    const auto found = names.find(json[0].get<std::string>());
    if (found != names.end()) json[0] = found->second;
  } else if (json.is_structured()) {
    for (Json& part : json) rename_in(part, names);
  }
}

}  // namespace

std::vector<std::optional<std::int64_t>> extents_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

Json GraphWriter::tensor_json(const WrittenTensor& tensor) {
  return {{"class_name", "__keras_tensor__"},
          {"config", {{"shape", batched(tensor.shape)}, {"dtype", tensor.dtype}, {"keras_history", history(tensor)}}}};
}

WrittenTensor GraphWriter::add_input(const std::string& name, const std::vector<std::optional<std::int64_t>>& shape,
                                     const std::string& dtype) {
  Json entry = object_json("keras.layers", "InputLayer",
                           {{"batch_shape", batched(shape)}, {"dtype", dtype}, {"sparse", false}, {"name", name}});
  entry["name"] = name;
  entry["inbound_nodes"] = Json::array();
  layers_.push_back(std::move(entry));
  calls_[name].emplace_back();
  return {name, 0, shape, dtype};
}

WrittenTensor GraphWriter::add(std::string_view class_name, const std::string& name, Json config, Json arguments,
                               const Shape& shape, Json options) {
  config["name"] = name;
  if (is_bfloat16_ && !config.contains("dtype")) {
    config["dtype"] = object_json("keras", "DTypePolicy", {{"name", "mixed_bfloat16"}});
  }
  types_[name] = snake_case(class_name);
  return add_entry(object_json("keras.layers", class_name, std::move(config)), name, std::move(arguments), shape,
                   std::move(options));
}

WrittenTensor GraphWriter::add_operation(std::string_view class_name, const std::string& name, Json config,
                                         Json arguments, const Shape& shape) {
  config["name"] = name;
  Json entry = object_json("keras.src.ops.numpy", class_name, std::move(config));
  entry["registered_name"] = class_name;
  return add_entry(std::move(entry), name, std::move(arguments), shape, Json::object());
}

WrittenTensor GraphWriter::add_entry(Json entry, const std::string& name, Json arguments, const Shape& shape,
                                     Json options) {
  entry["name"] = name;
  entry["inbound_nodes"] = Json::array();
  numbers_[name] = layers_.size();
  layers_.push_back(std::move(entry));
  return call(name, std::move(arguments), shape, std::move(options));
}

WrittenTensor GraphWriter::call(const std::string& layer, Json arguments, const Shape& shape, Json options) {
  Json& nodes = layers_[numbers_.at(layer)]["inbound_nodes"];
  add_sources(arguments, calls_[layer].emplace_back());
  nodes.push_back({{"args", std::move(arguments)}, {"kwargs", std::move(options)}});
  return {layer, nodes.size() - 1, extents_of(shape)};
}

std::vector<GraphWriter::LayerGroup> GraphWriter::groups(const std::vector<WrittenTensor>& outputs) const {
  std::vector<LayerCall> ends;
  for (const WrittenTensor& output : outputs) ends.emplace_back(output.layer, output.call);
  std::vector<LayerGroup> groups;
  std::map<std::string, int> counts;
  for (const std::string& layer : layers_in_order(calls_, ends)) {
    const auto type = types_.find(layer);
    if (type == types_.end()) continue;
    const int number = counts[type->second]++;
    groups.push_back({layer, "layers/" + type->second + (number == 0 ? "" : fmt::format("_{}", number))});
  }
  return groups;
}

Json GraphWriter::config(const std::string& name, const std::vector<WrittenTensor>& inputs,
                         const std::vector<WrittenTensor>& outputs) const {
  Json layers = layers_, first = ends(inputs), last = ends(outputs);
  for (Json* const part : {&layers, &first, &last}) rename_in(*part, renamed_);
  for (Json& layer : layers) {
    const auto found = renamed_.find(layer["name"].get<std::string>());
    if (found != renamed_.end()) layer["name"] = layer["config"]["name"] = found->second;
  }
  return {{"name", name},
          {"trainable", true},
          {"layers", std::move(layers)},
          {"input_layers", std::move(first)},
          {"output_layers", std::move(last)}};
}

}  // namespace mirrortrain::keras
