#include "keras/graph_writer.h"

#include <fmt/format.h>

#include <utility>

#include "keras/to_json.h"
#include "keras/weight_paths.h"

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

}  // namespace

std::vector<std::optional<std::int64_t>> extents_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

Json GraphWriter::tensor_json(const WrittenTensor& tensor) {
  return {{"class_name", "__keras_tensor__"},
          {"config", {{"shape", batched(tensor.shape)}, {"dtype", "float32"}, {"keras_history", history(tensor)}}}};
}

WrittenTensor GraphWriter::add_input(const std::string& name, const std::vector<std::optional<std::int64_t>>& shape) {
  Json entry = object_json("keras.layers", "InputLayer",
                           {{"batch_shape", batched(shape)}, {"dtype", "float32"}, {"sparse", false}, {"name", name}});
  entry["name"] = name;
  entry["inbound_nodes"] = Json::array();
  layers_.push_back(std::move(entry));
  return {name, 0, shape};
}

WrittenTensor GraphWriter::add(std::string_view class_name, const std::string& name, Json config, Json arguments,
                               const Shape& shape, Json options) {
  config["name"] = name;
  if (is_bfloat16_) {
    config["dtype"] = object_json("keras", "DTypePolicy", {{"name", "mixed_bfloat16"}});
  }
  const std::string type = snake_case(class_name);
  const int number = counts_[type]++;
  groups_[name] = number == 0 ? "layers/" + type : fmt::format("layers/{}_{}", type, number);
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
  nodes.push_back({{"args", std::move(arguments)}, {"kwargs", std::move(options)}});
  return {layer, nodes.size() - 1, extents_of(shape)};
}

Json GraphWriter::config(const std::string& name, const std::vector<WrittenTensor>& inputs,
                         const std::vector<WrittenTensor>& outputs) const {
  return {{"name", name},
          {"trainable", true},
          {"layers", layers_},
          {"input_layers", ends(inputs)},
          {"output_layers", ends(outputs)}};
}

}  // namespace mirrortrain::keras
