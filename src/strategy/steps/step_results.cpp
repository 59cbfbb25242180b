#include "strategy/steps/step_results.h"

#include "base/error.h"

namespace mirrortrain {

StepResults::StepResults(std::size_t metrics, std::size_t room) : sums_(room, Sums(metrics)) { pending_.reserve(room); }

std::size_t StepResults::begin(std::int64_t examples, std::optional<double> regularization) {
  if (full()) throw Error("the sums of earlier steps must be taken before the next one");
  pending_.push_back({examples, regularization});
  return size() - 1;
}

std::span<const Sums> StepResults::take(std::span<const LaneReplica> replicas) {
  const std::size_t steps = size();
  for (std::size_t slot = 0; slot < steps; ++slot) add_up(slot, replicas);
  pending_.clear();
  return {sums_.data(), steps};
}

void StepResults::add_up(std::size_t slot, std::span<const LaneReplica> replicas) {
  Sums& sums = sums_[slot];
  sums.clear();
  sums.examples = pending_[slot].examples;
  if (replicas.empty()) return;
  for (const auto& [lane, replica] : replicas) {
    const std::span<const double> own = lane->sums().replica(slot, replica->in_lane);
    sums.loss += own[0];
    for (std::size_t i = 0; i < sums.metrics.size(); ++i) sums.metrics[i] += own[1 + i];
  }
  // Lane 0's, which has replica 0.
  const double regularization = pending_[slot].regularization.value_or(replicas[0].lane->sums().regularization(slot));
  sums.loss += regularization * static_cast<double>(sums.examples);
}

}  // namespace mirrortrain
