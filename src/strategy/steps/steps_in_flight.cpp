#include "strategy/steps/steps_in_flight.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "collective/host_values.h"

namespace mirrortrain {

StepsInFlight::StepsInFlight(const Model& model, std::size_t capacity, int replicas)
    : model_(model),
      loss_sums_(model.loss_sums()),
      sums_(capacity, StepSums(model.outputs.size(), model.metric_sums())) {
  rest_.counted.resize(model.outputs.size());
  numbers_.reserve(capacity * static_cast<std::size_t>(replicas) * (values() + kTimes));
  times_.reserve(static_cast<std::size_t>(replicas));  // at most one worker for each
  steps_.reserve(capacity);
}

std::size_t StepsInFlight::begin(std::int64_t examples, std::optional<double> regularization) {
  if (is_full()) throw Error("the sums of earlier steps must be taken before the next one");
  steps_.push_back({examples, regularization});
  return size() - 1;
}

std::span<const StepSums> StepsInFlight::take(std::span<const LaneReplica> replicas, Communicator* workers) {
  const auto ranks = static_cast<std::size_t>(workers != nullptr ? workers->size() : 1);
  const auto rank = static_cast<std::size_t>(workers != nullptr ? workers->rank() : 0);
  const std::size_t of_replicas = replicas.size() * values();
  const bool has_times = ranks > 1 && of_replicas > 0;
  const std::size_t of_slot = of_replicas + (has_times ? kTimes : 0), of_worker = size() * of_slot;
  numbers_.resize(ranks * of_worker);
  times_.resize(ranks);
  const std::span<double> numbers(numbers_);
  for (std::size_t slot = 0; slot < size(); ++slot) {
    const std::span<double> own = numbers.subspan(rank * of_worker + slot * of_slot, of_slot);
    read(slot, replicas, own.first(of_replicas));
    if (has_times)
      std::ranges::copy(std::array{steps_[slot].times.seconds, steps_[slot].times.waited}, own.last(kTimes).begin());
  }
  if (workers != nullptr && !numbers.empty()) gather(*workers, numbers, "loss and metrics");
  for (std::size_t slot = 0; slot < size(); ++slot) {
    StepSums& sums = sums_[slot];
    sums.clear();
    sums.examples = steps_[slot].examples;
    rest_.regularization = rest_.penalty = 0;
    std::ranges::fill(rest_.counted, 0.0);
    for (std::size_t worker = 0; worker < ranks; ++worker) {
      const std::span<const double> of = numbers.subspan(worker * of_worker + slot * of_slot, of_slot);
      add(of.first(of_replicas), sums);
      if (has_times) times_[worker] = {of[of_replicas], of[of_replicas + 1]};
    }
    if (has_times) waited_for_.add_step(times_);
    finish(sums);
  }
  const std::span<const StepSums> taken(sums_.data(), size());
  steps_.clear();
  return taken;
}

/// The regularization is counted once, at the run's first place, or where each memory has its part of it at the first
/// place of each; a replica's results at its first.
void StepsInFlight::read(std::size_t slot, std::span<const LaneReplica> replicas, std::span<double> numbers) const {
  for (const auto& [lane, replica] : replicas) {
    const std::span<const double> found = lane->buffers().sums(slot, replica->in_lane);
    const std::optional<double>& given = steps_[slot].regularization;
    const bool counts = regularization_in_parts_ && !given ? replica->in_domain == 0 : replica->index == 0;
    numbers[0] = counts ? given.value_or(lane->buffers().regularization(slot)) : 0;
    std::ranges::copy(found, numbers.begin() + 1);
    if (replica->model > 0) std::ranges::fill(numbers.subspan(1, values() - 1), 0.0);
    numbers = numbers.subspan(values());
  }
}

/// Adds a worker's replicas in their order.
void StepsInFlight::add(std::span<const double> numbers, StepSums& sums) {
  for (; !numbers.empty(); numbers = numbers.subspan(values())) {
    rest_.regularization += numbers[0];
    auto loss = numbers.begin() + 1;
    for (std::size_t i = 0; i < sums.losses.size();
         loss += static_cast<std::ptrdiff_t>(model_.outputs[i++].loss_sums)) {
      sums.losses[i] += *loss;
      if (model_.outputs[i].loss_sums > 1) rest_.counted[i] += loss[1];
    }
    if (model_.has_penalty()) rest_.penalty += *loss;
    for (std::size_t i = 0; i < sums.metrics.size(); ++i) sums.metrics[i] += numbers[1 + loss_sums_ + i];
  }
}

void StepsInFlight::finish(StepSums& sums) const {
  const auto examples = static_cast<double>(sums.examples);
  for (std::size_t i = 0; i < sums.losses.size(); ++i) {
    // The mean over the unmasked items of the global batch counts for each of its examples, as in Keras.
    double& loss = sums.losses[i];
    if (model_.outputs[i].loss_sums > 1) loss = rest_.counted[i] > 0 ? loss / rest_.counted[i] * examples : 0;
    sums.loss += model_.outputs[i].loss_weight * loss;
  }
  sums.loss += rest_.penalty + rest_.regularization * examples;
  if (sums.examples == 0) sums.clear();
}

}  // namespace mirrortrain
