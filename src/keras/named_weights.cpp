#include "keras/named_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "keras/layer_names.h"
#include "keras/network.h"
#include "keras/options.h"
#include "keras/weight_paths.h"
#include "model/layers.h"

namespace mirrortrain::keras {
namespace {

/// A class of Keras's, or the name of its group, as the layer's type here; itself where none is known.
std::string type_of(const std::string& class_name) {
  const config::Schema* const type = type_named(schema_of<Layer>(), class_name);
  return type != nullptr ? type->name : snake_case(class_name);
}

void add_origins(const Network& network, const std::string& prefix, int level, std::vector<LayerOrigin>& origins) {
  LayerNames names;
  for (const NetworkLayer& layer : network.layers) {
    if (layer.is_input() || layer.is_operation()) continue;
    const std::string name = prefix + names.unique(layer.name);
    if (layer.is_network() && level < kMostNested) {
      Problems ignored;
      const Json serialized{{"class_name", layer.class_name}, {"config", *layer.config}};
      add_origins(read_network(serialized, layer.group, ignored), name + "_", level + 1, origins);
      continue;
    }
    LayerOrigin origin{name, layer.group, {type_of(layer.class_name)}};
    const Json* config = layer.config;
    for (auto inside = as_object(at(*config, "layer")); inside && origin.types.size() < 4;
         inside = as_object(at(*config, "layer"))) {
      origin.types.push_back(type_of(inside->class_name));
      config = inside->config;
    }
    origins.push_back(std::move(origin));
  }
}

/// "dense" for "dense_12", the name of a counted group.
std::string without_number(const std::string& group) {
  const std::size_t end = group.find_last_not_of("0123456789");
  return end != group.npos && end + 1 < group.size() && group[end] == '_' ? group.substr(0, end) : group;
}

}  // namespace

StoredTensors named_weights(Hdf5Contents weights, const std::vector<LayerOrigin>& origins,
                            const std::vector<VariableShape>& variables) {
  StoredTensors named;
  std::map<std::string, std::vector<std::string>> by_layer;
  for (const VariableShape& variable : variables) {
    for (std::size_t slash = variable.name.find('/'); slash != variable.name.npos;
         slash = variable.name.find('/', slash + 1)) {
      by_layer[variable.name.substr(0, slash)].push_back(variable.name.substr(slash + 1));
    }
  }
  for (const LayerOrigin& origin : origins) {
    std::size_t number = 0;
    std::set<std::string> taken;
    for (const WeightPath& weight : weight_paths(origin.types, by_layer[origin.name])) {
      const bool is_again = !taken.insert(weight.variable).second;
      auto found = weights.datasets.find(origin.group + "/" + weight.path);
      if (found == weights.datasets.end() && !is_again) {
        found = weights.datasets.find(fmt::format("{}/ordered/{}", origin.group, number));
      }
      if (!is_again) ++number;
      if (found == weights.datasets.end()) continue;
      if (!is_again) named[origin.name + "/" + weight.variable] = std::move(found->second);
      weights.datasets.erase(found);
    }
  }
  for (auto& [path, tensor] : weights.datasets) named.emplace(path, std::move(tensor));
  return named;
}

std::vector<LayerOrigin> origins_in(const Json& model) {
  Problems ignored;
  std::vector<LayerOrigin> origins;
  add_origins(read_network(model, "", ignored), "", 0, origins);
  return origins;
}

std::vector<LayerOrigin> origins_in(const Hdf5Contents& weights) {
  std::map<std::string, LayerOrigin> by_group;
  for (const auto& [path, tensor] : weights.datasets) {
    constexpr std::string_view kLayers = "layers/";
    std::string name, type, group;
    std::size_t at = 0;
    while (path.compare(at, kLayers.size(), kLayers) == 0) {
      const std::size_t end = std::min(path.find('/', at + kLayers.size()), path.size());
      const std::string base = path.substr(at + kLayers.size(), end - at - kLayers.size());
      group = path.substr(0, end);
      const std::string own = weights.text(group + "/vars", "name");
      name += (name.empty() ? "" : "_") + (own.empty() ? base : own);
      type = type_of(without_number(base));
      if (type_named(schema_of<Layer>(), base) != nullptr) type = type_of(base);
      at = std::min(end + 1, path.size());
    }
    if (group.empty()) continue;
    LayerOrigin& origin = by_group[group];
    if (origin.types.empty()) origin = {name, group, {type}};
    // What is inside of a wrapper says its own type: GROUP/layer/cell is a recurrent one.
    if (path.compare(at, 11, "layer/cell/") == 0 && origin.types.size() == 1) origin.types.push_back("lstm");
  }
  std::vector<LayerOrigin> origins;
  for (auto& [group, origin] : by_group) origins.push_back(std::move(origin));
  return origins;
}

bool is_of_layer(const std::string& path) {
  return path.starts_with("layers/") && path.find("seed_generator") == path.npos;
}

}  // namespace mirrortrain::keras
