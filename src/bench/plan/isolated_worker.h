#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "bench/plan/exchange_recorder.h"
#include "data/feeding/feeder.h"
#include "strategy/reduction/choose_reduction.h"
#include "train/session/run.h"
#include "train/training_steps.h"

namespace mirrortrain::plan {

/// The participants of a run on several workers, and how gradients are added, as the run itself would choose them.
struct Layout {
  Topology topology;  ///< of worker 0
  ReductionChoice choice;
  std::int64_t global_batch = 0;
  std::vector<std::int64_t> rows;  ///< examples of each replica of worker 0, which has the most

  int workers() const { return topology.cluster.workers; }
  /// Whether a worker's computation depends on the number of workers, not on its rows alone: each has a part of the
  /// state, of the weights or of the layers.
  bool divides_over_workers() const { return choice.shards || topology.replica_spans_workers(); }
  /// How many workers a run has in which a worker computes as in this one.
  int isolated_workers() const { return divides_over_workers() ? workers() : std::min(workers(), 2); }
  int replicas_each() const { return static_cast<int>(rows.size()); }
  int lanes() const { return static_cast<int>(topology.lanes.size()); }
  /// The worker's threads, on CPUs.
  int threads() const;
};

/// A step of one worker, measured on this machine without a network.
struct WorkerStep {
  double seconds = 0;             ///< median
  std::vector<Exchange> buckets;  ///< of gradients, in the order in which they fill up
  std::vector<Exchange> others;   ///< the workers' other exchanges
  std::uint64_t memory = 0;       ///< bytes of variables, activations, inputs and received gradients
};

/// Worker 0 of a run whose other workers do not exist: its strategy, over ExchangeRecorders. It is built as one of
/// Layout::isolated_workers(), with the rows of the layout. One thread creates and drives it.
class IsolatedWorker {
 public:
  /// `options`: of the run's strategy, with which `layout` was made. All must outlive it. Runs a few warm-up steps.
  /// Throws as a run does.
  IsolatedWorker(const CheckedConfiguration& checked, const StrategyOptions& options, const Hardware& hardware,
                 const Layout& layout, const data::Feeder& examples);

  /// Trains for `seconds`, but at least some steps.
  WorkerStep measure(double seconds);

 private:
  std::int64_t steps_between_sums() const;
  std::int64_t steps_of_sample() const;
  double train_sample();
  void train();
  RunCommunicators record(const Topology& topology);
  std::vector<Exchange> exchanges(double steps) const;

  const Configuration& values_;
  const Layout& layout_;
  const data::Feeder& examples_;
  std::deque<ExchangeRecorder> recorders_;  ///< declared before their users
  std::vector<ExchangeRecorder*> used_;     ///< of the first domain, along each axis, and of the workers
  std::unique_ptr<Strategy> strategy_;

  std::vector<std::int64_t> rows_;  ///< of the step's batch
  std::mt19937 random_;
  TrainingState state_;
};

}  // namespace mirrortrain::plan
