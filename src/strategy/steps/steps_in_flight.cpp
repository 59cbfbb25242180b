#include "strategy/steps/steps_in_flight.h"

#include <algorithm>

#include "base/error.h"
#include "device/cpu/cpu_device.h"

namespace mirrortrain {

StepsInFlight::StepsInFlight(std::size_t metrics, std::size_t capacity)
    : sums_(capacity, StepSums(metrics)), numbers_(capacity * (1 + metrics)) {
  steps_.reserve(capacity);
}

std::size_t StepsInFlight::begin(std::int64_t examples, std::optional<double> regularization) {
  if (is_full()) throw Error("the sums of earlier steps must be taken before the next one");
  steps_.push_back({examples, regularization});
  return size() - 1;
}

std::span<const StepSums> StepsInFlight::take(std::span<const LaneReplica> replicas, Communicator* workers) {
  const std::span<StepSums> taken(sums_.data(), size());
  for (std::size_t slot = 0; slot < taken.size(); ++slot) add_up(slot, replicas);
  if (workers != nullptr) add_workers(taken, *workers);
  steps_.clear();
  return taken;
}

void StepsInFlight::add_up(std::size_t slot, std::span<const LaneReplica> replicas) {
  StepSums& sums = sums_[slot];
  sums.clear();
  sums.examples = steps_[slot].examples;
  if (replicas.empty()) return;
  for (const auto& [lane, replica] : replicas) {
    const std::span<const double> own = lane->buffers().sums(slot, replica->in_lane);
    sums.loss += own[0];
    for (std::size_t i = 0; i < sums.metrics.size(); ++i) sums.metrics[i] += own[1 + i];
  }
  // Counted once: by the worker, and there by the lane, that has replica 0.
  const auto& [lane, replica] = replicas.front();
  if (replica->index != 0) return;
  const double regularization = steps_[slot].regularization.value_or(lane->buffers().regularization(slot));
  sums.loss += regularization * static_cast<double>(sums.examples);
}

void StepsInFlight::add_workers(std::span<StepSums> sums, Communicator& workers) {
  if (sums.empty()) return;
  const std::size_t values = 1 + sums[0].metrics.size();
  const std::span<double> numbers = std::span(numbers_).first(sums.size() * values);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    numbers[i * values] = sums[i].loss;
    std::ranges::copy(sums[i].metrics, numbers.begin() + static_cast<std::ptrdiff_t>(i * values + 1));
  }
  InlineStream stream;
  workers.all_reduce(stream, {numbers, "loss and metrics"});
  workers.synchronize(stream);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    sums[i].loss = numbers[i * values];
    std::ranges::copy(numbers.subspan(i * values + 1, values - 1), sums[i].metrics.begin());
  }
}

}  // namespace mirrortrain
