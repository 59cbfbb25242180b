#include "keras/layer_order.h"

#include <algorithm>
#include <functional>
#include <ranges>
#include <set>
#include <utility>

namespace mirrortrain::keras {
namespace {

/// A walk back from the outputs, as that of map_graph in keras/src/ops/function.py.
class Walk {
 public:
  explicit Walk(const LayerCalls& calls) : calls_(calls) {}

  void visit(const LayerCall& call) {
    if (!visited_.insert(call).second) return;
    places_.try_emplace(call.first, places_.size());
    for (const LayerCall& source : sources_of(call)) visit(source);
    from_inputs_.push_back(call);
  }

  std::vector<std::string> layers() const {
    const std::map<std::string, std::size_t> depths = find_depths().of_layers;
    std::vector<std::string> layers;
    for (const auto& [layer, depth] : depths) layers.push_back(layer);
    std::ranges::sort(layers, [&](const std::string& one, const std::string& other) {
      const std::size_t a = depths.at(one), b = depths.at(other);
      return a != b ? a > b : places_.at(one) < places_.at(other);
    });
    return layers;
  }

  std::vector<LayerCall> calls() const {
    Depths depths = find_depths();
    std::ranges::stable_sort(depths.calls, std::greater(),
                             [&](const LayerCall& call) { return depths.of_calls.at(call); });
    return std::move(depths.calls);
  }

 private:
  struct Depths {
    std::map<std::string, std::size_t> of_layers{};
    std::map<LayerCall, std::size_t> of_calls{};
    std::vector<LayerCall> calls{};  ///< in the order in which their depths were first set
  };

  Depths find_depths() const {
    Depths depths;
    const auto of_call = [&](const LayerCall& call) -> std::size_t& {
      const auto [found, is_new] = depths.of_calls.try_emplace(call, 0);
      if (is_new) depths.calls.push_back(call);
      return found->second;
    };
    for (const LayerCall& call : std::views::reverse(from_inputs_)) {
      std::size_t& of_layer = depths.of_layers[call.first];
      const std::size_t depth = of_layer = of_call(call) = std::max(of_layer, of_call(call));
      for (const LayerCall& source : sources_of(call)) of_call(source) = std::max(of_call(source), depth + 1);
    }
    return depths;
  }

  const std::vector<LayerCall>& sources_of(const LayerCall& call) const {
    return calls_.at(call.first).at(call.second);
  }

  const LayerCalls& calls_;
  std::set<LayerCall> visited_;
  std::map<std::string, std::size_t> places_;  ///< of the layers, in the walk
  std::vector<LayerCall> from_inputs_;
};

}  // namespace

std::vector<std::string> layers_in_order(const LayerCalls& calls, const std::vector<LayerCall>& outputs) {
  Walk walk(calls);
  for (const LayerCall& output : outputs) walk.visit(output);
  return walk.layers();
}

std::vector<LayerCall> calls_in_order(const LayerCalls& calls, const std::vector<LayerCall>& outputs) {
  Walk walk(calls);
  for (const LayerCall& output : outputs) walk.visit(output);
  return walk.calls();
}

}  // namespace mirrortrain::keras
