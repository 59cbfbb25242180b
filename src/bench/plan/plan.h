#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/plan/isolated_worker.h"

namespace mirrortrain::plan {

/// The options of `mirrortrain plan`.
struct PlanOptions {
  std::vector<int> workers{};      ///< ascending; of make_plan
  std::optional<Network> network;  ///< none: all workers are processes of this machine
  bool scales_batch = false;       ///< the global batch grows with the workers, else it is the configuration's
  double seconds = 1;              ///< to measure each batch size
};

/// The assumptions of a prediction.
struct Assumptions {
  Network network;
  double add_seconds = 0;  ///< gamma: seconds for a thread to add a byte
  /// Cores that all workers share if they are processes of one machine; 0: each has its own machine like this one.
  int shared_cores = 0;
};

/// A run on one number of workers. Times in seconds.
struct PlannedRun {
  int workers = 1, replicas = 1;
  int model = 1;  ///< places of a replica
  std::int64_t global_batch = 0;
  std::int64_t rows = 0;     ///< examples of the worker with the most
  int idle_workers = 0;      ///< without examples
  double compute = 0;        ///< of a step
  double communication = 0;  ///< of a step, including the part overlapped by backward
  double step = 0;
  std::uint64_t memory = 0;  ///< bytes of a worker

  double examples_per_second() const { return static_cast<double>(global_batch) / step; }
  /// Examples per second relative to one worker.
  double speedup(const PlannedRun& one) const { return examples_per_second() / one.examples_per_second(); }
  double efficiency(const PlannedRun& one) const { return speedup(one) / workers; }
};

struct Plan {
  PlannedRun one;                ///< one worker; of meshes, the first one
  std::vector<PlannedRun> runs;  ///< as requested
  bool of_meshes = false;
  Assumptions assumptions;
  bool network_measured = false;
  bool shares_memory = false;  ///< the measured network is shared memory, else the loopback
  std::uint64_t gradient_bytes = 0;
  std::size_t buckets = 0;  ///< 0 if at most one worker is planned
  bool overlaps = false;    ///< communication of buckets with backward
  std::string operation;    ///< between workers
  std::string note;         ///< why, for the largest number of workers; of meshes, for the first one
  std::string worker;       ///< "2 replicas on cpu:0, cpu:1"
};

/// The prediction for one number of workers from the measured step of a worker. A pure function.
PlannedRun predict(const Layout& layout, const WorkerStep& step, const Assumptions& assumptions);

/// The largest planned number of workers up to which all keep a worthwhile efficiency; nullopt if none above 1 does.
std::optional<int> recommended_workers(const Plan& plan);
inline constexpr double kWorthwhileEfficiency = 0.8;

/// Throws UsageError if the configuration has no model, or has what no step time is predicted for.
void require_plannable(const CheckedConfiguration& checked);

/// Measures and predicts. Throws UsageError if the configuration has no model or cannot run on several workers, and on
/// GPUs without a network; otherwise throws as a run does.
Plan make_plan(const CheckedConfiguration& checked, const PlanOptions& options,
               const Hardware& hardware = this_hardware());

/// A mesh to plan: that of a run in which each worker has as many of its places as devices.
struct MeshToPlan {
  Mesh mesh;
  const CheckedConfiguration* checked = nullptr;  ///< with layers for so many places of a replica
};

/// The same for meshes of the workers' devices. `whole`: the configuration without one, whose strategy all have. Throws
/// UsageError too where the workers' devices do not divide a mesh's places.
Plan make_mesh_plan(const CheckedConfiguration& whole, const std::vector<MeshToPlan>& meshes,
                    const PlanOptions& options, const Hardware& hardware = this_hardware());

/// The prediction as a table, preceded by its assumptions and followed by its conclusions. `width`: maximum number of
/// columns of the table, which omits the least important ones; 0: no limit.
std::string plan_text(const Plan& plan, std::size_t width = 0);

/// The same figures as JSON, in seconds and bytes.
std::string plan_json(const Plan& plan);

}  // namespace mirrortrain::plan
