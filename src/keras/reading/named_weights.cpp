#include "keras/reading/named_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "keras/layer_names.h"
#include "keras/options.h"
#include "keras/reading/network.h"
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
    const std::optional<NetworkLayer> of_steps = layer.model_of_steps();
    if ((of_steps || layer.is_network()) && level < kMostNested) {
      Problems ignored;
      add_origins(read_network(of_steps ? *of_steps : layer, ignored), name + "_", level + 1, origins);
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
    if (const auto activation = layer.activation()) {
      origins.push_back({prefix + names.unique(layer.name + "_activation"),
                         activation->layer.group,
                         {type_of(activation->layer.class_name)}});
    }
  }
}

/// The variables that layers of a type have, in Keras's order; none where that depends on options.
std::vector<std::string> usual_variables(const std::string& type) {
  if (type == "dense" || type == "einsum_dense" || type == "conv1d" || type == "conv2d" || type == "conv3d" ||
      type.ends_with("_transpose")) {
    return {"kernel", "bias"};
  }
  if (type.starts_with("depthwise_conv")) return {"depthwise_kernel", "bias"};
  if (type.starts_with("separable_conv")) return {"depthwise_kernel", "pointwise_kernel", "bias"};
  if (type == "batch_normalization") return {"gamma", "beta", "moving_mean", "moving_variance"};
  if (type == "layer_normalization" || type == "group_normalization") return {"gamma", "beta"};
  if (type == "rms_normalization") return {"scale"};
  if (type == "embedding") return {"embeddings"};
  if (type == "prelu") return {"alpha"};
  if (type == "simple_rnn" || type == "lstm" || type == "gru" || type.starts_with("conv_lstm")) {
    return {"kernel", "recurrent_kernel", "bias"};
  }
  return {};
}

/// The variables of a layer that the model has not, if what the file has of it leaves no doubt: all that its type has,
/// or all but a bias.
std::vector<std::string> usual_variables(const LayerOrigin& origin, const StoredTensors& datasets) {
  const std::vector<std::string> all = usual_variables(origin.types.back());
  const std::vector<std::string> without_bias(all.begin(), all.end() - (all.empty() ? 0 : 1));
  std::vector<std::vector<std::string>> choices = {all};
  if (!all.empty() && all.back() == "bias") choices.push_back(without_bias);
  if (origin.types.back() == "multi_head_attention" || origin.types.back() == "group_query_attention") {
    choices.clear();
    for (const bool has_bias : {true, false}) {
      std::vector<std::string>& names = choices.emplace_back();
      for (const char* part : {"query/", "key/", "value/", "attention_output/"}) {
        names.push_back(std::string(part) + "kernel");
        if (has_bias) names.push_back(std::string(part) + "bias");
      }
    }
  }
  if (origin.types.front() == "bidirectional") {
    choices = {{"forward/kernel", "forward/recurrent_kernel", "forward/bias", "backward/kernel",
                "backward/recurrent_kernel", "backward/bias"}};
  }
  const auto stored =
      std::ranges::count_if(datasets, [&](const auto& one) { return one.first.starts_with(origin.group + "/"); });
  for (std::vector<std::string>& names : choices) {
    if (std::ssize(names) == stored) return std::move(names);
  }
  return {};
}

/// "dense" for "dense_12", the name of a counted group.
std::string without_number(const std::string& group) {
  const std::size_t end = group.find_last_not_of("0123456789");
  return end != group.npos && end + 1 < group.size() && group[end] == '_' ? group.substr(0, end) : group;
}

}  // namespace

StoredTensors named_weights(Hdf5Contents weights, const std::vector<LayerOrigin>& origins,
                            const std::vector<VariableShape>& variables, const std::set<std::string>& paths) {
  StoredTensors named;
  std::map<std::string, std::vector<std::string>> by_layer;
  for (const VariableShape& variable : variables) {
    for (std::size_t slash = variable.name.find('/'); slash != variable.name.npos;
         slash = variable.name.find('/', slash + 1)) {
      by_layer[variable.name.substr(0, slash)].push_back(variable.name.substr(slash + 1));
    }
  }
  for (const LayerOrigin& origin : origins) {
    const auto of_model = by_layer.find(origin.name);
    const std::vector<std::string> own =
        of_model != by_layer.end() ? of_model->second : usual_variables(origin, weights.datasets);
    std::size_t number = 0;
    std::set<std::string> taken;
    for (const WeightPath& weight : weight_paths(origin.types, own)) {
      const bool is_again = !taken.insert(weight.variable).second;
      auto found = weights.datasets.find(origin.group + "/" + weight.path);
      if (found == weights.datasets.end() && !is_again) {
        found = weights.datasets.find(fmt::format("{}/ordered/{}", origin.group, number));
      }
      if (!is_again) ++number;
      if (found == weights.datasets.end() || paths.contains(found->first)) continue;
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
  add_origins(read_network(model, ignored), "", 0, origins);
  return origins;
}

std::vector<LayerOrigin> origins_in(const Hdf5Contents& weights) {
  std::map<std::string, LayerOrigin> by_group;
  for (const auto& [path, tensor] : weights.datasets) {
    constexpr std::string_view kLayers = "layers/", kOverTime = "layer/layers/";  // of a model in TimeDistributed
    std::string name, type, group;
    std::size_t at = 0;
    while (true) {
      if (path.compare(at, kOverTime.size(), kOverTime) == 0) at += kOverTime.size() - kLayers.size();
      if (path.compare(at, kLayers.size(), kLayers) != 0) break;
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
    if (path.compare(at, 16, "activation/vars/") == 0) {  // a layer as another's activation: only this one has weights
      name += "_activation";
      group += "/activation";
      type = "prelu";
    }
    LayerOrigin& origin = by_group[group];
    if (origin.types.empty()) origin = {name, group, {type}};
    // What is inside of a wrapper says its own type: GROUP/layer/cell is a recurrent one.
    if (path.compare(at, 11, "layer/cell/") == 0 && origin.types.size() == 1) origin.types.push_back("lstm");
  }
  std::vector<LayerOrigin> origins;
  for (auto& [group, origin] : by_group) origins.push_back(std::move(origin));
  return origins;
}

bool is_of_lora(std::string_view variable) {
  return variable.substr(std::min(variable.rfind('/') + 1, variable.size())).starts_with("lora_");
}

void keep_weights_of_layers(Hdf5Contents& weights) {
  std::erase_if(weights.datasets, [](const auto& one) {
    const std::string& path = one.first;
    const bool is_preprocessing =
        path.find("layers/normalization/") != path.npos || path.find("layers/normalization_") != path.npos;
    return !path.starts_with("layers/") || path.find("seed_generator") != path.npos || is_preprocessing;
  });
}

}  // namespace mirrortrain::keras
