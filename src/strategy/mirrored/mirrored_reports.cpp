// What a mirrored strategy tells of its memory and of where the time of its steps went.
#include <fmt/format.h>

#include "strategy/mirrored/mirrored_strategy.h"

namespace mirrortrain {

std::vector<double> MirroredStrategy::take_waiting_shares() {
  std::vector<double> shares;
  for (const auto& lane : lane_steps_) shares.push_back(lane->take_waiting_share());
  return shares;
}

void MirroredStrategy::profile() {
  enqueue_deferred();
  bursts_.reset();
  for (const auto& lane : lane_steps_) lane->profile();
  for (const auto& [lane, replica] : lanes_.replicas) {
    for (auto& [rows, bound] : replica->train) bound.program.profile();
  }
}

std::vector<ProfileEntry> MirroredStrategy::profile_entries() const {
  std::vector<ProfileEntry> entries;
  for (int lane = 0; lane < lanes_.size(); ++lane) {
    for (const auto& [action, seconds] : steps_of_lane(lane).training().action_times()) {
      entries.push_back({fmt::format("lane {}", lane), "", action, seconds});
    }
  }
  for (const auto& [lane, replica] : lanes_.replicas) {
    if (replica->train.empty()) continue;
    for (const auto& [layer, op, seconds] : replica->train.rbegin()->second.program.step_times()) {
      entries.push_back({fmt::format("replica {}", replica->index), layer, op, seconds});
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
    forecast.examples += examples;
    if (!topology_.on_gpus()) continue;
    const std::size_t run =
        variables_->of_lane(index).bytes() + lane.bytes() + examples + reduction_of_lane(index).bytes();
    forecast.gpus.push_back({lane.device().id(), run, lane.device().memory()});
  }
  return forecast;
}

}  // namespace mirrortrain
