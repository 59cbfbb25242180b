#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "device/cuda/gpus.h"
#include "device/device.h"
#include "strategy/strategy_options.h"

namespace mirrortrain {

/// What there is to place replicas on.
struct Machine {
  std::vector<int> cores;            ///< that this process may use
  std::function<cuda::Gpus()> gpus;  ///< asked only where GPUs matter: a driver takes its time to answer
};

/// The one that this process runs on.
Machine this_machine();

/// The processes of a run and which one this is. Worker 0 is the chief.
struct Cluster {
  int workers = 1, worker = 0;
};

/// One thread that drives one device and runs the replicas dealt to it.
struct LanePlace {
  DeviceId device;
  int threads = 1;
  std::vector<int> cores;     ///< one per thread, or none: not pinned
  std::vector<int> replicas;  ///< numbers in the run, ascending
};

/// "replica 2", "replicas 2, 3".
std::string replica_names(const std::vector<int>& replicas);

/// A memory in which variables live, and who computes on it: all CPU lanes of a process, or one GPU.
struct DomainPlace {
  std::vector<int> lanes;     ///< of this process
  std::vector<int> replicas;  ///< numbers in the run, ascending
  int rank = 0;               ///< its number in the run
  bool on_host = true;        ///< the host reads and writes it directly
};

/// Who takes part in a run: its workers, its replicas and which of them are here, on which lanes and memories. Plain
/// data, made once. Every worker has as many replicas, and as many memories, as any other.
struct Topology {
  Cluster cluster;
  int replicas = 1;                ///< of the run, on all workers
  std::vector<LanePlace> lanes;    ///< of this process, all on CPUs or all on GPUs
  bool cores_of_their_own = true;  ///< no two lanes share a core
  std::vector<std::string> notes;  ///< for the log: what was chosen and why

  bool on_gpus() const { return lanes.front().device.kind == DeviceId::Kind::kCuda; }
  bool is_chief() const { return cluster.worker == 0; }
  std::vector<DomainPlace> domains() const;
  /// How many memories the run has. Ranks of collective operations are memories, worker after worker.
  int ranks() const { return cluster.workers * static_cast<int>(domains().size()); }
};

/// Deals replicas to devices. The threads of a replica follow from the number of replicas here and the machine's cores
/// alone, not from the number of devices, since the same replicas must give the same bits on any number of devices.
/// `options` are what their section accepts; they describe one worker. Throws UsageError for a device that does not
/// exist and for a number of replicas that the devices do not divide.
Topology make_topology(const StrategyOptions& options, std::int64_t global_batch, const Machine& machine,
                       const Cluster& cluster = {});

/// The number of replicas that make_topology would place on all workers. Throws UsageError where the devices do not
/// divide it.
int count_replicas(const StrategyOptions& options, std::int64_t global_batch, const Machine& machine, int workers = 1);

/// A replica's part of a global batch.
struct RowRange {
  std::int64_t first = 0, count = 0;
};

/// Splits `rows` into floor/ceil parts, larger parts first; a replica may get none.
RowRange rows_of_replica(std::int64_t rows, int replica, int replicas);

}  // namespace mirrortrain
