#include "bench/plan/isolated_worker.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "base/median.h"
#include "strategy/reduction/gradient_buckets.h"
#include "strategy/reduction/memory_groups.h"
#include "strategy/steps/steps_in_flight.h"
#include "train/session/run_strategy.h"

namespace mirrortrain::plan {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWarmUp = 3, kFewestSamples = 5, kMostSamples = 1000;
/// Steps per sample on asynchronous devices, so that the final wait is negligible.
constexpr std::int64_t kStepsOfSample = 16;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// The global batch for which worker 0 of that cluster has the layout's rows.
std::int64_t batch_of(const Layout& layout) {
  if (layout.isolated_workers() == layout.workers()) return layout.global_batch;
  const std::int64_t own = std::accumulate(layout.rows.begin(), layout.rows.end(), std::int64_t{0});
  return own + (layout.isolated_workers() - 1) * layout.rows.back() * layout.replicas_each();
}

/// Options with the layout's devices by name, regardless of those that the batch and the number of workers would
/// select.
StrategyOptions placed_as(const Layout& layout, StrategyOptions options) {
  std::vector<DeviceId> devices;
  for (const LanePlace& lane : layout.topology.lanes) devices.push_back(lane.device);
  options.devices = std::move(devices);
  if (options.mesh) {
    const Mesh& mesh = layout.topology.mesh;
    options.mesh =
        MeshOptions{std::int64_t{mesh.data} * layout.isolated_workers() / layout.workers(), std::int64_t{mesh.model}};
  } else {
    options.replicas = layout.replicas_each();
  }
  return options;
}

}  // namespace

int Layout::threads() const {
  int threads = 0;
  for (const LanePlace& lane : topology.lanes) threads += lane.threads;
  return threads;
}

IsolatedWorker::IsolatedWorker(const CheckedConfiguration& checked, const StrategyOptions& options,
                               const Hardware& hardware, const Layout& layout, const data::Feeder& examples)
    : values_(checked.values()),
      layout_(layout),
      examples_(examples),
      rows_(static_cast<std::size_t>(batch_of(layout))) {
  Hardware isolated = hardware;
  isolated.cluster = {layout.isolated_workers(), 0};
  if (isolated.cluster.workers > 1) {
    isolated.communicators = [this](const Topology& topology, const StrategyOptions&, const ReductionChoice&,
                                    const Backend&, std::span<Device* const>) { return record(topology); };
  }
  // With options, a run omits `state`, whose values may be lists by replica; it has no cost.
  strategy_ = make_strategy(checked, {.strategy = placed_as(layout, options)}, isolated);
  strategy_->prepare({{std::ssize(rows_)}, {}, {&examples_}});
  set_first_values(checked, *strategy_);
  for (int i = 0; i < kWarmUp; ++i) train_sample();
}

/// Its ranks in the groups that the run would have.
RunCommunicators IsolatedWorker::record(const Topology& topology) {
  const auto recorder = [this](int rank, int size, Along along) { return &recorders_.emplace_back(rank, size, along); };
  const auto along = [&](ops::Axis axis) {
    const Along of = axis == ops::Axis::kData ? Along::kData : Along::kModel;
    const Communicators made = communicators_along(axis, topology, [&](const MemoryGroup& group) {
      Communicators ranks;
      for (std::size_t i = 0; i < group.here.size(); ++i) {
        ranks.ranks.push_back(
            recorder(group.first_rank + static_cast<int>(i), static_cast<int>(group.memories.size()), of));
      }
      return ranks;
    });
    if (!made.ranks.empty()) used_.push_back(static_cast<ExchangeRecorder*>(made.ranks.front()));
    return made;
  };
  RunCommunicators made{along(ops::Axis::kData), along(ops::Axis::kModel)};
  used_.push_back(recorder(0, topology.cluster.workers, Along::kWorkers));
  made.workers = used_.back();
  return made;
}

/// Trains on random examples, as the training loop does.
void IsolatedWorker::train() {
  std::uniform_int_distribution<std::int64_t> any(0, examples_.rows() - 1);
  std::ranges::generate(rows_, [&] { return any(random_); });
  StepSpec spec = next_step(state_, values_.gradients.accumulate_steps, learning_rates_of(*values_.optimizer));
  spec.data_set = &examples_;
  spec.rows = rows_;
  spec.epoch = 1;
  strategy_->train(spec);
  if (strategy_->must_take_sums()) strategy_->take_sums();
}

std::int64_t IsolatedWorker::steps_between_sums() const {
  if (values_.training.on_non_finite == OnNonFinite::kSkip) return steps_of_sample();
  return std::min<std::int64_t>(values_.logging.every_steps, kStepsAhead);
}

std::int64_t IsolatedWorker::steps_of_sample() const {
  return values_.gradients.accumulate_steps * (layout_.topology.on_gpus() ? kStepsOfSample : 1);
}

/// Runs whole groups of accumulated gradients. Returns the seconds of a step.
double IsolatedWorker::train_sample() {
  const std::int64_t steps = steps_of_sample();
  const auto start = Clock::now();
  for (std::int64_t i = 0; i < steps; ++i) train();
  strategy_->take_sums();
  return seconds_since(start) / static_cast<double>(steps);
}

WorkerStep IsolatedWorker::measure(double seconds) {
  for (ExchangeRecorder& recorder : recorders_) recorder.clear();
  const std::int64_t before = state_.step;
  std::vector<double> samples;
  const auto start = Clock::now();
  const auto goes_on = [&] { return seconds_since(start) < seconds && std::ssize(samples) < kMostSamples; };
  while (std::ssize(samples) < kFewestSamples || goes_on()) samples.push_back(train_sample());

  WorkerStep measured;
  measured.seconds = median(std::move(samples));
  const MemoryForecast memory = strategy_->memory();
  measured.memory = memory.variables + memory.activations + memory.examples + memory.received;
  // The exchanges of the model's layers and of the update are not buckets.
  for (Exchange& one : exchanges(static_cast<double>(state_.step - before))) {
    const bool is_bucket = one.along == Along::kData && names_bucket(one.what);
    (is_bucket ? measured.buckets : measured.others).push_back(std::move(one));
  }
  return measured;
}

/// Of a step among so many. The training loop takes the sums of more steps together than a sample of this one does.
std::vector<Exchange> IsolatedWorker::exchanges(double steps) const {
  const double together = static_cast<double>(steps_between_sums()) / static_cast<double>(steps_of_sample());
  std::vector<Exchange> all;
  for (const ExchangeRecorder* const recorder : used_) {
    for (Exchange& one : recorder->exchanges(steps)) {
      if (one.along == Along::kWorkers) {
        one.bytes *= together;
        one.per_step /= together;
      }
      all.push_back(std::move(one));
    }
  }
  return all;
}

}  // namespace mirrortrain::plan
