#include "keras/writing/layer_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "keras/weight_paths.h"

namespace mirrortrain::keras {
namespace {

StoredTensor float_tensor(const Shape& shape, const std::vector<float>& values) {
  StoredTensor tensor{DType::kFloat32, shape, {}};
  const auto bytes = std::as_bytes(std::span(values));
  tensor.data.assign(bytes.begin(), bytes.end());
  return tensor;
}

}  // namespace

void LayerWeights::add(const std::string& layer, const std::vector<std::string>& types) {
  std::vector<std::string> variables;
  const std::string prefix = layer + "/";
  for (auto at = what_.weights.lower_bound(prefix); at != what_.weights.end() && at->first.starts_with(prefix); ++at) {
    variables.push_back(at->first.substr(prefix.size()));
  }
  for (WeightPath& weight : weight_paths(types, variables)) {
    const std::string variable = prefix + weight.variable;
    weights_[layer].push_back({std::move(weight.path), variable, what_.weights.at(variable)});
  }
}

void LayerWeights::add_zero_kernel(const std::string& layer, std::int64_t channels, const std::string& variable,
                                   Shape shape) {
  const std::vector<float> zeros(static_cast<std::size_t>(channels * channels));
  StoredTensor bias{DType::kFloat32, std::move(shape), what_.weights.at(variable).data};
  weights_[layer] = {{"vars/0", "", float_tensor({channels, channels}, zeros)}, {"vars/1", variable, std::move(bias)}};
}

/// Of a layer in Keras, what trains: a variable of the model that does, once, or zeros beside one.
void LayerWeights::add_trainable(const std::vector<Weight>& weights, WrittenModel& model) const {
  std::set<std::string> listed;
  for (const Weight& weight : weights) {
    const std::string& name = weight.variable.empty() ? weights.back().variable : weight.variable;
    const auto variable = std::ranges::find(what_.built.variables, name,
                                            [](const auto& one) -> const std::string& { return one.spec.name; });
    if (variable == what_.built.variables.end() || !variable->spec.trainable) continue;
    if (listed.insert(weight.variable).second) model.trainable.push_back({weight.variable, weight.value.shape});
  }
}

void LayerWeights::place(const std::vector<GraphWriter::LayerGroup>& groups, WrittenModel& model) {
  for (const auto& [layer, group] : groups) {
    const auto found = weights_.find(layer);
    if (found == weights_.end()) continue;
    model.names[group + "/vars"] = layer;
    add_trainable(found->second, model);
    for (Weight& weight : found->second) {
      model.weights[fmt::format("{}/{}", group, weight.path)] = std::move(weight.value);
    }
  }
}

}  // namespace mirrortrain::keras
