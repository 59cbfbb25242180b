#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "bench/plan/isolated_worker.h"

namespace mirrortrain::plan {

/// The training data of a configuration with a model. Throws as a run does.
data::Feeder read_examples(const CheckedConfiguration& checked);

/// Measures the steps of worker 0 of a configuration's run on any number of workers.
class StepMeter {
 public:
  /// `checked` must have a model. `strategy`: of the workers, in place of the configuration's. `seconds`: how long to
  /// measure each size. All others must outlive this.
  StepMeter(const CheckedConfiguration& checked, StrategyOptions strategy, const data::Feeder& examples,
            const Hardware& hardware, double seconds);

  /// Throws UsageError and Error as a run would.
  Layout layout(int workers, std::int64_t global_batch) const;
  /// The mean over `side_by_side` workers that compute at the same time, because cores share caches and memory.
  /// Measurements are cached.
  const WorkerStep& step(const Layout& layout, int side_by_side = 1);

 private:
  WorkerStep measure(const Layout& layout, int side_by_side);

  /// Layout::isolated_workers(); side_by_side; lanes; rows.
  using Key = std::tuple<int, int, int, std::vector<std::int64_t>>;
  const CheckedConfiguration& checked_;
  const StrategyOptions strategy_;
  const Hardware& hardware_;
  const double seconds_;
  const data::Feeder& examples_;
  std::map<Key, WorkerStep> measured_;
};

/// The options of a configuration's run on several workers.
StrategyOptions workers_in_sync(const CheckedConfiguration& checked);

/// Seconds per byte for one thread to add float32 elements, as reductions in host memory do.
double measure_add_seconds();

}  // namespace mirrortrain::plan
