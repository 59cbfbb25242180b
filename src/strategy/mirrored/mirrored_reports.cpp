// What a mirrored strategy tells of its steps: sums, memory, where the time went.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "device/cpu/cpu_device.h"
#include "report/format.h"
#include "strategy/mirrored/mirrored_strategy.h"

namespace mirrortrain {
namespace {

/// What is left to the libraries, which load kernels in the first steps, and to recorded steps.
std::size_t reserve_of(std::size_t free) { return std::min(std::size_t{1} << 30, free / 8); }

}  // namespace

/// Of the replicas here, in their order, whichever lanes they are on.
void MirroredStrategy::add_up(std::size_t slot) {
  StepSums& sums = sums_[slot];
  sums.clear();
  sums.examples = in_flight_[slot].examples;
  if (model_.layers.empty()) return;
  for (const auto& [lane, replica] : replicas_) {
    const std::span<const double> own = lane->buffers().sums(slot, replica->in_lane);
    sums.loss += own[0];
    for (std::size_t i = 0; i < sums.metrics.size(); ++i) sums.metrics[i] += own[1 + i];
  }
  if (!topology_.is_chief()) return;
  // Of the lane that has replica 0.
  const double regularization =
      in_flight_[slot].regularization.value_or(replicas_[0].lane->buffers().regularization(slot));
  sums.loss += regularization * static_cast<double>(sums.examples);
}

/// Adds what the other workers' replicas gave.
void MirroredStrategy::add_workers(std::span<StepSums> sums) {
  const std::size_t values = 1 + model_.metric_names.size();
  const std::span<double> packed = std::span(packed_sums_).first(sums.size() * values);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    packed[i * values] = sums[i].loss;
    std::ranges::copy(sums[i].metrics, packed.begin() + static_cast<std::ptrdiff_t>(i * values + 1));
  }
  InlineStream stream;
  communicators_.workers->all_reduce(stream, {packed, "loss and metrics"});
  communicators_.workers->synchronize(stream);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    sums[i].loss = packed[i * values];
    std::ranges::copy(packed.subspan(i * values + 1, values - 1), sums[i].metrics.begin());
  }
}

std::vector<double> MirroredStrategy::take_waiting_shares() {
  std::vector<double> shares;
  for (const auto& lane : lane_steps_) shares.push_back(lane->take_waiting_share());
  return shares;
}

void MirroredStrategy::profile() {
  bursts_.reset();
  for (const auto& lane : lane_steps_) lane->profile();
  for (const auto& [lane, replica] : replicas_) {
    for (auto& [rows, bound] : replica->train) bound.program.profile();
  }
}

std::vector<ProfileEntry> MirroredStrategy::profile_entries() const {
  std::vector<ProfileEntry> entries;
  for (std::size_t lane = 0; lane < lane_steps_.size(); ++lane) {
    for (const auto& [action, seconds] : lane_steps_[lane]->training().action_times()) {
      entries.push_back({fmt::format("lane {}", lane), action, seconds});
    }
  }
  for (const auto& [lane, replica] : replicas_) {
    if (replica->train.empty()) continue;
    for (const auto& [layer, op, seconds] : replica->train.rbegin()->second.program.step_times()) {
      entries.push_back({fmt::format("replica {}", replica->index), fmt::format("{:<32}{}", layer, op), seconds});
    }
  }
  return entries;
}

MemoryForecast MirroredStrategy::memory() const {
  MemoryForecast forecast;
  forecast.variables = variables_->bytes();
  for (const auto& lane : lanes_) {
    forecast.activations += lane->bytes();
    if (lane->examples() != nullptr) forecast.examples += lane->examples()->bytes();
  }
  if (!topology_.on_gpus()) return forecast;
  for (int i = 0; i < static_cast<int>(lanes_.size()); ++i) {
    const Lane& lane = *lanes_[static_cast<std::size_t>(i)];
    const auto& [buckets, link, reducer] = reduction_of_lane(i);
    const std::size_t exchanged = (link ? link->bytes() : 0) + (reducer ? reducer->bytes() : 0);
    const std::size_t run = variables_->of_lane(i).bytes() + lane.bytes() + lane.examples()->bytes() + exchanged;
    forecast.gpus.push_back({lane.device().id(), run, lane.device().memory()});
  }
  return forecast;
}

/// Throws Error where a lane's device, or the memory that all lanes share, has no room for the activations of the
/// largest batch.
void MirroredStrategy::require_memory(int lane, const BatchSizes& sizes) const {
  const Lane& own = *lanes_[static_cast<std::size_t>(lane)];
  const MemoryDomain& domain = variables_->of_lane(lane);
  if (domain.place.lanes.front() != lane) return;  // asked for all of the domain's lanes with the first
  std::size_t wanted = 0, free = own.device().memory().free;
  for (const int other : domain.place.lanes) wanted += lanes_[static_cast<std::size_t>(other)]->step_bytes();
  if (!domain.place.on_host) free -= reserve_of(free);
  if (wanted <= free) return;
  std::int64_t batch = 0;
  for (const auto* of_kind : {&sizes.train, &sizes.evaluate}) {
    for (const std::int64_t size : *of_kind) batch = std::max(batch, size);
  }
  // Activations grow with the rows; what does not is little beside them.
  const auto fits =
      static_cast<std::int64_t>(static_cast<double>(batch) * static_cast<double>(free) / static_cast<double>(wanted));
  const std::string examples =
      own.examples() == nullptr ? "" : fmt::format(" and {} of examples", report::bytes_text(own.examples()->bytes()));
  throw Error(
      fmt::format("{}: not enough memory: a global batch of {} wants {} for activations and inputs here, and {} are "
                  "free, beside {} "
                  "of variables, gradients and optimizer{}; {}",
                  domain.place.on_host ? "cpu" : own.device().id().text(), batch, report::bytes_text(wanted),
                  report::bytes_text(free), report::bytes_text(domain.bytes()), examples,
                  fits >= topology_.replicas ? fmt::format("a global batch of about {} would fit", fits)
                                             : "no batch would fit; use a smaller model or another device"));
}

}  // namespace mirrortrain
