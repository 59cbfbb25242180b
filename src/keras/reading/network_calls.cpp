#include "keras/reading/network_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/utf8.h"
#include "keras/layer_order.h"

namespace mirrortrain::keras {
namespace {

/// Whether moving statistics are updated by several calls, whose order then counts.
bool shares_statistics(const Network& network) {
  return std::ranges::any_of(network.layers, [](const NetworkLayer& layer) {
    return layer.calls.size() > 1 && (layer.is_network() || layer.class_name == "BatchNormalization");
  });
}

/// The calls whose values the outputs depend on; those that only make masks are not among them.
std::set<LayerCall> needed_calls(const Network& network) {
  std::set<LayerCall> needed;
  std::vector<Tensor> open = network.outputs;
  while (!open.empty()) {
    const Tensor one = open.back();
    open.pop_back();
    if (!needed.insert({one.layer, one.call}).second) continue;
    for (const Tensor& input : network.find(one.layer)->calls[one.call].inputs) open.push_back(input);
  }
  return needed;
}

}  // namespace

std::vector<NetworkCall> calls_as_keras_runs(const Network& network) {
  LayerCalls calls;
  for (const NetworkLayer& layer : network.layers) {
    for (const Call& call : layer.calls) {
      auto& sources = calls[layer.name].emplace_back();
      for (const Tensor& input : call.inputs) sources.emplace_back(input.layer, input.call);
      for (const Tensor& mask : call.masks) sources.emplace_back(mask.layer, mask.call);
    }
  }
  std::vector<LayerCall> outputs;
  for (const Tensor& output : network.outputs) outputs.emplace_back(output.layer, output.call);
  const std::set<LayerCall> needed = needed_calls(network);
  std::vector<NetworkCall> order;
  for (const LayerCall& one : calls_in_order(calls, outputs)) {
    if (needed.contains(one)) order.emplace_back(network.find(one.first), one.second);
  }
  return order;
}

std::vector<NetworkCall> calls_in_order(const Network& network, Problems& problems) {
  const std::set<LayerCall> needed = needed_calls(network);
  std::set<LayerCall> done;
  std::vector<NetworkCall> order;
  for (bool any = true; any;) {
    any = false;
    for (const NetworkLayer& layer : network.layers) {
      for (std::size_t call = 0; call < layer.calls.size(); ++call) {
        const LayerCall key{layer.name, call};
        const auto is_done = [&](const Tensor& input) { return done.contains({input.layer, input.call}); };
        if (!needed.contains(key) || done.contains(key) || !std::ranges::all_of(layer.calls[call].inputs, is_done))
          continue;
        done.insert(key);
        order.emplace_back(&layer, call);
        any = true;
      }
    }
  }
  if (done.size() != needed.size()) {
    problems.add(fmt::format("model '{}'", shortened(network.name)),
                 "its layers read each other in a circle; the file is damaged");
  }
  if (done.size() == needed.size() && shares_statistics(network)) order = calls_as_keras_runs(network);
  // A block's output is its last layer: nothing reads the only output.
  if (network.outputs.size() == 1 && !order.empty()) {
    const auto is_output = [&](const auto& one) {
      return one.first->name == network.outputs[0].layer && one.second == network.outputs[0].call;
    };
    std::ranges::stable_partition(order, [&](const auto& one) { return !is_output(one); });
  }
  return order;
}

}  // namespace mirrortrain::keras
