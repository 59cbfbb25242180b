// A mirrored strategy's reports: its variables, its memory, and the time spent in its steps.
#include <fmt/format.h>

#include <set>
#include <string>
#include <utility>

#include "strategy/mirrored/mirrored_strategy.h"
#include "strategy/reduction/equal_replicas.h"

namespace mirrortrain {

std::string MirroredStrategy::differing_replicas() {
  if (!reduction_->exchanges()) return "";
  synchronize();
  return mirrortrain::differing_replicas(*variables_, lanes_.streams, workers());
}

std::vector<double> MirroredStrategy::take_waiting_shares() {
  std::vector<double> shares;
  for (const auto& lane : lane_steps_) shares.push_back(lane->take_waiting_share());
  return shares;
}

void MirroredStrategy::profile() {
  enqueue_deferred();
  multi_step_.reset();
  for (const auto& lane : lane_steps_) lane->profile();
  for (const auto& [lane, replica] : lanes_.replicas) {
    for (auto& [size, bound] : replica->train) bound.program.profile();
  }
}

std::vector<ProfileEntry> MirroredStrategy::profile_entries() const {
  std::vector<ProfileEntry> entries;
  for (int lane = 0; lane < lanes_.size(); ++lane) {
    for (const auto& [action, seconds] : steps_of_lane(lane).training().action_times()) {
      entries.push_back({lanes_[lane].device().id().text(), "", action, seconds});
    }
  }
  // If the update computes a weight's gradient, the op for both computes only the bias's gradient.
  std::set<std::pair<std::string, std::string>> without_weights;
  for (const ProductGradient& product : products_) {
    const Graph& graph = model_.training.graph;
    const Node& node = graph.node(graph.value(model_.training.gradients[product.variable]).producer);
    without_weights.emplace(node.layer, node.op->name());
  }
  for (const auto& [lane, replica] : lanes_.replicas) {
    for (const auto& [size, bound] : replica->train) {
      if (size.rows != replica->train.rbegin()->first.rows) continue;
      for (const auto& [layer, op, seconds] : bound.program.step_times()) {
        const bool of_bias = without_weights.contains({layer, op});
        entries.push_back({fmt::format("replica {}", replica->index), layer, of_bias ? "bias_gradient" : op, seconds});
      }
    }
  }
  return entries;
}

MemoryForecast MirroredStrategy::memory() const {
  MemoryForecast forecast;
  forecast.variables = variables_->bytes();
  for (int index = 0; index < lanes_.size(); ++index) {
    const Lane& lane = lanes_[index];
    const std::size_t examples = lane.examples() != nullptr ? lane.examples()->bytes() : 0;
    forecast.activations += lane.bytes();
    const bool is_first = variables_->of_lane(index).place.lanes.front() == index;
    if (is_first) forecast.activations += reduction_of_lane(index).rows_bytes();
    forecast.examples += examples;
    if (!topology_.on_gpus()) continue;
    const std::size_t run =
        variables_->of_lane(index).bytes() + lane.bytes() + examples + reduction_of_lane(index).bytes();
    forecast.gpus.push_back({lane.device().id(), run, lane.device().memory()});
  }
  return forecast;
}

}  // namespace mirrortrain
