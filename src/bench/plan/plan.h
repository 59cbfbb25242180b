#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/plan/step_meter.h"

namespace mirrortrain::plan {

/// What `mirrortrain plan` is asked for.
struct PlanOptions {
  std::vector<int> workers;        ///< ascending
  std::optional<Network> network;  ///< none: all workers are processes of this machine
  bool scales_batch = false;       ///< the global batch grows with the workers, else it is the configuration's
  double seconds = 1;              ///< to measure each size of batch
};

/// Under which a prediction holds.
struct Assumptions {
  Network network;
  double add_seconds = 0;  ///< gamma: seconds in which a thread adds a byte
  /// Cores that all workers share, where they are processes of one machine; 0: each has a machine like this one.
  int shared_cores = 0;
};

/// A run on one number of workers. Times in seconds.
struct PlannedRun {
  int workers = 1, replicas = 1;
  std::int64_t global_batch = 0;
  std::int64_t rows = 0;     ///< examples of the worker that has the most
  int idle_workers = 0;      ///< without examples
  double compute = 0;        ///< of a step
  double communication = 0;  ///< of a step, what backward hides included
  double step = 0;
  std::uint64_t memory = 0;  ///< bytes of a worker

  double examples_per_second() const { return static_cast<double>(global_batch) / step; }
  /// Examples per second, as a multiple of what one worker reaches.
  double speedup(const PlannedRun& one) const { return examples_per_second() / one.examples_per_second(); }
  double efficiency(const PlannedRun& one) const { return speedup(one) / workers; }
};

struct Plan {
  PlannedRun one;                ///< one worker
  std::vector<PlannedRun> runs;  ///< as asked for
  Assumptions assumptions;
  bool network_measured = false;
  bool shares_memory = false;  ///< the measured network is memory that the processes share, else the loopback
  std::uint64_t gradient_bytes = 0;
  std::size_t buckets = 0;  ///< 0 where no more than one worker is planned
  bool overlaps = false;    ///< buckets with backward
  std::string operation;    ///< between workers
  std::string note;         ///< why, for the largest number of workers
  std::string worker;       ///< "2 replicas on cpu:0, cpu:1"
};

/// The prediction for one number of workers, from what a worker's step was measured to be. Pure.
PlannedRun predict(const Layout& layout, const WorkerStep& step, const Assumptions& assumptions);

/// The most workers, of those planned, up to which each number keeps a worthwhile efficiency; nothing where no number
/// above 1 does.
std::optional<int> recommended_workers(const Plan& plan);
inline constexpr double kWorthwhileEfficiency = 0.8;

/// Measures and predicts. Throws UsageError where the configuration has no model or cannot run on several workers, and
/// on GPUs without a network; else what a run throws.
Plan make_plan(const CheckedConfiguration& checked, const PlanOptions& options,
               const Hardware& hardware = this_hardware());

}  // namespace mirrortrain::plan
