#include "keras/reading/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/utf8.h"
#include "keras/weight_paths.h"

namespace mirrortrain::keras {
namespace {

/// ["dense", 0, 0], or nullopt.
std::optional<Tensor> history_of(const Json& history) {
  const Json& parts = as_list(history);
  const auto is_count = [](const Json& value) { return value.is_number_integer() && value >= Json(0); };
  if (!parts.is_array() || parts.size() < 3 || !parts[0].is_string() || !is_count(parts[1]) || !is_count(parts[2])) {
    return std::nullopt;
  }
  return Tensor{parts[0].get<std::string>(), parts[1].get<std::size_t>(), parts[2].get<std::size_t>(), {}};
}

std::optional<Tensor> tensor_of(const Json& value) {
  if (text_at(value, "class_name") != "__keras_tensor__") return std::nullopt;
  const Json& config = at(value, "config");
  auto tensor = history_of(at(config, "keras_history"));
  if (tensor) tensor->shape = at(config, "shape");
  return tensor;
}

/// Every tensor in an argument: itself, or the items of lists and mappings.
void add_tensors(const Json& value, std::vector<Tensor>& tensors) {
  if (const auto tensor = tensor_of(value)) {
    tensors.push_back(*tensor);
  } else if (value.is_structured()) {
    for (const Json& item : value) add_tensors(item, tensors);
  }
}

/// Masks that Keras itself hands on beside the values. An attention_mask is an input.
bool is_mask(std::string_view argument) {
  return argument == "mask" || argument == "query_mask" || argument == "value_mask" || argument == "key_mask";
}

/// True, false or nothing; numbers stand for them in old files.
std::optional<bool> flag_of(const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value != Json(0);
  return std::nullopt;
}

/// {"args": [...], "kwargs": {...}}
Call read_call(const Json& node) {
  Call call;
  call.arguments = at(node, "args");
  add_tensors(call.arguments, call.inputs);
  const Json& options = at(node, "kwargs");
  if (!options.is_object()) return call;
  call.training = flag_of(at(options, "training"));
  // Inputs by name come in the order of attention's parameters, the only layers with several.
  for (const char* name : {"query", "value", "key"}) add_tensors(at(options, name), call.inputs);
  for (const auto& [name, value] : options.items()) {
    std::vector<Tensor> tensors;
    add_tensors(value, tensors);
    if (is_mask(name) && !tensors.empty()) {
      call.masks.insert(call.masks.end(), tensors.begin(), tensors.end());
    } else if (!tensors.empty() && name != "query" && name != "value" && name != "key") {
      call.options[name] = "a tensor";
    } else if (tensors.empty() && name != "training") {
      call.options[name] = value;
    }
  }
  return call;
}

/// Keras 2's [["dense", 0, 0, {}], ...].
Call read_legacy_call(const Json& node) {
  Call call;
  for (const Json& input : node.is_array() && !node.empty() && node[0].is_string() ? Json::array({node}) : node) {
    if (auto tensor = history_of(input)) call.inputs.push_back(std::move(*tensor));
    if (input.is_array() && input.size() > 3 && input[3].is_object()) {
      call.training = flag_of(at(input[3], "training"));
      for (const auto& [name, value] : input[3].items()) {
        if (name == "training" || value.is_null()) continue;
        call.options[name] = value;
      }
    }
  }
  return call;
}

/// One, a list or a mapping of them.
std::vector<Tensor> read_ends(const Json& ends) {
  if (const auto one = history_of(ends)) return {*one};
  std::vector<Tensor> tensors;
  if (!ends.is_structured()) return tensors;
  for (const Json& end : ends) {
    if (const auto one = history_of(end)) tensors.push_back(*one);
  }
  return tensors;
}

NetworkLayer read_layer(const Json& entry) {
  NetworkLayer layer{"", text_at(entry, "class_name"), text_at(entry, "module"), &at(entry, "config"), "", {}};
  layer.name = text_at(entry, "name");
  if (layer.name.empty()) layer.name = text_at(*layer.config, "name");
  // A whole-model .h5 has no modules; but operations alone have neither a type of numbers nor weights.
  const bool is_layer = !layer.config->is_object() || layer.config->contains("dtype") ||
                        layer.config->contains("trainable") || layer.config->contains("layers") || layer.is_input();
  if (layer.module.empty() && at(entry, "inbound_nodes").is_array() && !is_layer) layer.module = "keras.ops";
  return layer;
}

void read_graph(const Json& config, Network& network, Problems& problems) {
  const Json& layers = at(config, "layers");
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const Json& nodes = at(layers[i], "inbound_nodes");
    if (!nodes.is_array()) continue;
    for (const Json& node : nodes) {
      network.layers[i].calls.push_back(node.is_object() ? read_call(node) : read_legacy_call(node));
    }
    if (network.layers[i].is_input()) network.layers[i].calls.assign(1, Call{});
  }
  network.inputs = read_ends(at(config, "input_layers"));
  const Json& outputs = at(config, "output_layers");
  network.outputs = read_ends(outputs);
  if (outputs.is_object() && outputs.size() == network.outputs.size()) {
    for (const auto& [key, end] : outputs.items()) network.output_keys.push_back(key);
  }
  for (Tensor& output : network.outputs) {
    // There, not where layers read it, a functional model's first call is counted behind the one that made it.
    const NetworkLayer* const layer = network.find(output.layer);
    if (layer != nullptr && layer->class_name == "Functional" && output.call > 0) --output.call;
  }
  if (network.inputs.empty() || network.outputs.empty()) {
    problems.add(fmt::format("model '{}'", shortened(network.name)), "expected its inputs and outputs, found none");
  }
}

/// Gives a Sequential's layers the calls of a chain.
void read_chain(const Json& config, Network& network, Problems& problems) {
  if (network.layers.empty() || !network.layers.front().is_input()) {
    Json shape = at(config, "build_input_shape");
    if (shape.is_null() && !network.layers.empty()) shape = at(*network.layers.front().config, "batch_input_shape");
    network.made_input = std::make_shared<const Json>(Json{{"batch_shape", as_list(shape)}, {"name", "input"}});
    network.layers.insert(network.layers.begin(),
                          NetworkLayer{"input", "InputLayer", "keras.layers", network.made_input.get(), "", {}});
  }
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    Call call;
    if (i > 0) call.inputs.push_back({network.layers[i - 1].name, 0, 0, {}});
    network.layers[i].calls.push_back(std::move(call));
  }
  network.inputs = {{network.layers.front().name, 0, 0, {}}};
  network.outputs = {{network.layers.back().name, 0, 0, {}}};
  if (network.layers.size() < 2) problems.add(fmt::format("model '{}'", shortened(network.name)), "has no layers");
}

/// Adds an error for what a damaged file can get wrong, which what follows relies on: names, and the calls that are
/// read.
void check(const Network& network, Problems& problems) {
  std::map<std::string, std::size_t> calls;
  for (const NetworkLayer& layer : network.layers) {
    if (layer.name.empty() || layer.class_name.empty()) {
      problems.add(fmt::format("model '{}'", shortened(network.name)),
                   "a layer has no name or no class; the file is damaged");
    } else if (!calls.emplace(layer.name, layer.calls.size()).second) {
      problems.add(layer.described(), "another layer has the same name; the file is damaged");
    }
  }
  const auto require = [&](const Tensor& tensor, const std::string& where) {
    const auto found = calls.find(tensor.layer);
    if (found != calls.end() && tensor.call < found->second) return;
    problems.add(where, fmt::format("reads call {} of '{}', which does not exist; the file is damaged", tensor.call,
                                    shortened(tensor.layer)));
  };
  for (const NetworkLayer& layer : network.layers) {
    for (const Call& call : layer.calls) {
      for (const Tensor& input : call.inputs) require(input, layer.described());
      for (const Tensor& mask : call.masks) require(mask, layer.described());
    }
  }
  for (const Tensor& end : network.inputs) require(end, "the model's inputs");
  for (const Tensor& end : network.outputs) require(end, "the model's outputs");
}

}  // namespace

bool NetworkLayer::is_operation() const { return module.find(".ops.") != module.npos || module == "keras.ops"; }

std::string NetworkLayer::described() const {
  return fmt::format("layer '{}' ({})", shortened(name), shortened(class_name));
}

std::optional<NetworkLayer::OwnActivation> NetworkLayer::activation() const {
  const Json& value = at(*config, "activation");
  const auto object = as_object(value);
  if (!object || object->class_name == "function" || !object->config->is_object()) return std::nullopt;
  return OwnActivation{text_at(*object->config, "name"),
                       {name + "/activation", object->class_name, text_at(value, "module"), object->config,
                        group + "/activation", calls}};
}

std::optional<NetworkLayer> NetworkLayer::model_of_steps() const {
  const Json& inside = at(*config, "layer");
  const auto object = class_name == "TimeDistributed" ? as_object(inside) : std::nullopt;
  if (!object) return std::nullopt;
  NetworkLayer model{name, object->class_name, text_at(inside, "module"), object->config, group + "/layer", calls};
  return model.is_network() ? std::optional(std::move(model)) : std::nullopt;
}

const NetworkLayer* Network::find(const std::string& layer) const {
  const auto found = std::ranges::find(layers, layer, &NetworkLayer::name);
  return found == layers.end() ? nullptr : &*found;
}

namespace {

/// `class_name`: "" for none. `group`: of the weights.
Network network_of(const std::string& class_name, const Json& config, const std::string& group, Problems& problems) {
  Network network;
  network.name = text_at(config, "name");
  const Json& layers = at(config, "layers");
  if (!layers.is_array()) {
    problems.add(
        fmt::format("model '{}' ({})", shortened(network.name), shortened(class_name)),
        "expected a Sequential or functional model, whose layers the file lists; a subclass of Model is Python "
        "code: build the same layers as a functional model, and load its weights there");
    return network;
  }
  for (const Json& entry : layers) network.layers.push_back(read_layer(entry));
  std::map<std::string, int> counts;
  for (NetworkLayer& layer : network.layers) {
    if (layer.is_operation()) continue;
    const std::string name = snake_case(layer.class_name);
    const int number = counts[name]++;
    layer.group = fmt::format("{}layers/{}", group.empty() ? "" : group + "/",
                              number == 0 ? name : fmt::format("{}_{}", name, number));
  }
  if (class_name == "Sequential") {
    read_chain(config, network, problems);
  } else {
    read_graph(config, network, problems);
  }
  check(network, problems);
  return network;
}

}  // namespace

Network read_network(const Json& model, Problems& problems) {
  const auto object = as_object(model);
  return network_of(object ? object->class_name : "", object ? *object->config : at(model, "config"), "", problems);
}

Network read_network(const NetworkLayer& layer, Problems& problems) {
  return network_of(layer.class_name, *layer.config, layer.group, problems);
}

std::optional<std::vector<std::int64_t>> input_shape_of(const NetworkLayer& input, Problems& problems) {
  const Json* given = &at(*input.config, "batch_shape");
  if (given->is_null()) given = &at(*input.config, "batch_input_shape");
  const Json& shape = as_list(*given);
  if (!shape.is_array() || shape.empty()) {
    problems.add(input.described(), "the shape of the input is not known; build the model on data, and save it again");
    return std::nullopt;
  }
  std::vector<std::int64_t> dims;
  for (std::size_t axis = 1; axis < shape.size(); ++axis) {
    const bool is_extent =
        shape[axis].is_number_integer() && shape[axis] > Json(0) && shape[axis] < Json(std::int64_t{1} << 40);
    if (!is_extent && !shape[axis].is_null()) {
      problems.add(input.described(),
                   fmt::format("expected a shape, found {}; the file is damaged", keras::described(shape)));
      return std::nullopt;
    }
    dims.push_back(is_extent ? shape[axis].get<std::int64_t>() : kOpen);
  }
  return dims;
}

void refuse_open(const NetworkLayer& input, const std::vector<std::int64_t>& shape, Problems& problems) {
  if (std::ranges::count(shape, kOpen) == 0) return;
  problems.add(input.described(),
               "its shape leaves an axis of an example open; here each has an extent: build the model with "
               "keras.Input of a whole shape, and save it again");
}

}  // namespace mirrortrain::keras
