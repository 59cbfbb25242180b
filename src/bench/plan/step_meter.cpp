#include "bench/plan/step_meter.h"

#include <algorithm>
#include <array>
#include <barrier>
#include <chrono>
#include <future>
#include <set>
#include <utility>

#include "base/median.h"
#include "collective/stage_work.h"
#include "device/cpu/cpu_device.h"
#include "train/session/run_data.h"
#include "train/session/run_strategy.h"

namespace mirrortrain::plan {

data::Feeder read_examples(const CheckedConfiguration& checked) {
  const data::DataOptions& data = checked.values().data;
  auto train = data::load(data, checked.values().seed, &checked.examples, data::Split::kTrain, nullptr);
  const auto steps = adapted_preprocessing(checked, train->adapted, &train->dataset);
  return {train->dataset, steps, checked.examples, training_options(checked, train->dataset)};
}

StepMeter::StepMeter(const CheckedConfiguration& checked, StrategyOptions strategy, const data::Feeder& examples,
                     const Hardware& hardware, double seconds)
    : checked_(checked), strategy_(std::move(strategy)), hardware_(hardware), seconds_(seconds), examples_(examples) {}

Layout StepMeter::layout(int workers, std::int64_t global_batch) const {
  Layout layout;
  layout.global_batch = global_batch;
  layout.topology = make_topology(strategy_, global_batch, hardware_.machine, {workers, 0});
  const Topology& topology = layout.topology;
  if (topology.memories_of_replica() > 1 && topology.domains().size() > 1) {
    throw WrongMesh(fmt::format(
        "the places of a replica would be on {} GPUs, several of them on one machine, whose exchanges `plan` does not "
        "measure; use as many places on the axis `model` as a GPU has, or list one GPU of each worker",
        topology.memories_of_replica()));
  }
  if (strategy_.elastic && topology.replica_spans_workers()) {
    throw UsageError(
        "strategy.elastic: a worker that is lost takes its part of a replica's layers with it; leave elastic out");
  }
  layout.choice = choose_reduction(strategy_, topology, checked_.values().gradients.aggregation_method,
                                   gradient_bytes_of(checked_, topology), hardware_.why_no_nccl);
  std::set<int> replicas;  // the worker's
  for (const LanePlace& lane : topology.lanes) {
    for (const int place : lane.replicas) replicas.insert(topology.mesh.data_index(place));
  }
  for (const int replica : replicas) {
    layout.rows.push_back(rows_of_replica(global_batch, replica, topology.mesh.data).count);
  }
  return layout;
}

const WorkerStep& StepMeter::step(const Layout& layout, int side_by_side) {
  const Key key(layout.isolated_workers(), side_by_side, layout.lanes(), layout.rows);
  const auto found = measured_.find(key);
  return found != measured_.end() ? found->second : measured_[key] = measure(layout, side_by_side);
}

WorkerStep StepMeter::measure(const Layout& layout, int side_by_side) {
  std::barrier together(side_by_side);
  const auto measure_one = [&] {
    try {
      IsolatedWorker worker(checked_, strategy_, hardware_, layout, examples_);
      together.arrive_and_wait();
      const WorkerStep measured = worker.measure(seconds_);
      together.arrive_and_wait();
      return measured;
    } catch (...) {
      together.arrive_and_drop();  // the others must not wait for this one
      throw;
    }
  };
  std::vector<std::future<WorkerStep>> others;
  for (int i = 1; i < side_by_side; ++i) others.push_back(std::async(std::launch::async, measure_one));
  WorkerStep measured = measure_one();
  for (auto& other : others) measured.seconds += other.get().seconds;
  measured.seconds /= side_by_side;
  return measured;
}

StrategyOptions workers_in_sync(const CheckedConfiguration& checked) {
  StrategyOptions options = checked.values().strategy;
  options.type = kWorkersInSync;
  return options;
}

double measure_add_seconds() {
  using Clock = std::chrono::steady_clock;
  constexpr std::size_t kElements = 1 << 18;
  constexpr int kTimes = 101;
  const auto device = make_cpu_device(0, 1, {});
  const Buffer one = device->allocate(kElements * sizeof(float)), other = device->allocate(kElements * sizeof(float));
  const std::array<std::byte*, 2> terms = {one.data(), other.data()};
  std::vector<double> samples;
  for (int i = 0; i < kTimes; ++i) {
    const auto start = Clock::now();
    shared_memory_work().combine(AggregationMethod::kAddN, DType::kFloat32, terms, std::span(terms).first(1),
                                 {0, kElements});
    samples.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  return median(std::move(samples)) / (kElements * sizeof(float));
}

}  // namespace mirrortrain::plan
