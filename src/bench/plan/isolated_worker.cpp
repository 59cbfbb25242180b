#include "bench/plan/isolated_worker.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "base/median.h"
#include "strategy/reduction/gradient_buckets.h"
#include "strategy/steps/steps_in_flight.h"

namespace mirrortrain::plan {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWarmUp = 3, kFewestSamples = 5, kMostSamples = 1000;
/// Steps per sample on asynchronous devices, so that the final wait is negligible.
constexpr std::int64_t kStepsOfSample = 16;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

Cluster cluster_of(const Layout& layout) { return {std::min(layout.workers(), 2), 0}; }

/// The global batch for which worker 0 of that cluster has the layout's rows.
std::int64_t batch_of(const Layout& layout) {
  const std::int64_t own = std::accumulate(layout.rows.begin(), layout.rows.end(), std::int64_t{0});
  return own + (cluster_of(layout).workers - 1) * layout.rows.back() * layout.replicas_each();
}

/// Options with the layout's devices by name, regardless of those that the batch and the number of workers would
/// select.
StrategyOptions placed_as(const Layout& layout, StrategyOptions options) {
  std::vector<DeviceId> devices;
  for (const LanePlace& lane : layout.topology.lanes) devices.push_back(lane.device);
  options.devices = std::move(devices);
  options.replicas = layout.replicas_each();
  return options;
}

}  // namespace

int Layout::threads() const {
  int threads = 0;
  for (const LanePlace& lane : topology.lanes) threads += lane.threads;
  return threads;
}

StrategyOptions options_of(const CheckedConfiguration& checked) {
  StrategyOptions options = checked.values().strategy;
  options.type = kWorkersInSync;
  return options;
}

IsolatedWorker::IsolatedWorker(const CheckedConfiguration& checked, const Hardware& hardware, const Layout& layout,
                               const data::Feeder& examples)
    : values_(checked.values()),
      layout_(layout),
      examples_(examples),
      workers_(cluster_of(layout).workers),
      rows_(static_cast<std::size_t>(batch_of(layout))) {
  const Cluster cluster = cluster_of(layout);
  Hardware isolated = hardware;
  isolated.cluster = cluster;
  if (cluster.workers > 1) {
    const std::size_t domains = layout.topology.domains().size();
    domains_.assign(domains, ExchangeRecorder(cluster.workers * static_cast<int>(domains)));
    isolated.communicators = [this](const Topology&, const StrategyOptions&, const ReductionChoice&, const Backend&,
                                    std::span<Device* const>) {
      RunCommunicators communicators;
      for (ExchangeRecorder& domain : domains_) communicators.along_data.ranks.push_back(&domain);
      communicators.workers = &workers_;
      return communicators;
    };
  }
  // With options, a run omits `state`, whose values may be lists by replica; it has no cost.
  strategy_ = make_strategy(checked, {.strategy = placed_as(layout, options_of(checked))}, isolated);
  strategy_->prepare({{std::ssize(rows_)}, {}, {&examples_}});
  set_first_values(checked, *strategy_);
  for (int i = 0; i < kWarmUp; ++i) train_sample();
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
  for (ExchangeRecorder& domain : domains_) domain.clear();
  workers_.clear();
  const std::int64_t before = state_.step;
  std::vector<double> samples;
  const auto start = Clock::now();
  const auto goes_on = [&] { return seconds_since(start) < seconds && std::ssize(samples) < kMostSamples; };
  while (std::ssize(samples) < kFewestSamples || goes_on()) samples.push_back(train_sample());

  WorkerStep measured;
  measured.seconds = median(std::move(samples));
  const MemoryForecast memory = strategy_->memory();
  measured.memory = memory.variables + memory.activations + memory.examples;
  if (domains_.empty()) return measured;
  const auto count = static_cast<double>(state_.step - before);
  // The exchanges of the model's layers and of the update are not buckets.
  std::vector<Exchange> exchanges = domains_.front().exchanges(count);
  const auto others = std::ranges::stable_partition(exchanges, names_bucket, &Exchange::what);
  measured.others = workers_.exchanges(count);
  // The training loop takes the sums of more steps together than a sample of this one does.
  const double together = static_cast<double>(steps_between_sums()) / static_cast<double>(steps_of_sample());
  for (Exchange& one : measured.others) {
    one.bytes *= together;
    one.per_step /= together;
  }
  measured.others.insert(measured.others.begin(), others.begin(), others.end());
  exchanges.erase(others.begin(), others.end());
  measured.buckets = std::move(exchanges);
  return measured;
}

}  // namespace mirrortrain::plan
