#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "cluster/cluster_spec.h"
#include "device/cuda/gpus.h"
#include "device/device.h"
#include "graph/ops/collective.h"
#include "strategy/strategy_options.h"

namespace mirrortrain {

/// The hardware to place replicas on.
struct Machine {
  std::vector<int> cores;            ///< that this process may use
  std::function<cuda::Gpus()> gpus;  ///< called only if GPUs matter, because a driver is slow to answer
  LocalPlace place{};                ///< among the tasks that share its GPUs
};

/// The machine that this process runs on. `cluster`: of which it is a task; its GPUs are those of all tasks there.
Machine this_machine();
Machine this_machine(const std::optional<ClusterSpec>& cluster);

/// The GPUs of a task with `devices: all`.
struct GpuShare {
  std::size_t first = 0, count = 0;
};
/// A task's share of the GPUs that it sees, `visible`: all, if the launcher has shown it its own alone, or if there are
/// fewer than tasks. Throws WrongDevices if each task is to have more than there are.
GpuShare share_of_gpus(const LocalPlace& place, std::size_t visible);

/// What options mean does not fit the machine; another one may have it.
class DoesNotFit : public UsageError {
 public:
  /// The message without the key.
  const std::string& reason() const { return reason_; }

 protected:
  DoesNotFit(const std::string& key, const std::string& reason) : UsageError(key + ": " + reason), reason_(reason) {}

 private:
  std::string reason_;
};

/// The machine does not have the devices of strategy.devices.
struct WrongDevices : DoesNotFit {
  static constexpr const char* kKey = "strategy.devices";
  explicit WrongDevices(const std::string& why) : DoesNotFit(kKey, why) {}
};

/// The places of strategy.mesh cannot be dealt to the devices.
struct WrongMesh : DoesNotFit {
  static constexpr const char* kKey = "strategy.mesh";
  explicit WrongMesh(const std::string& why) : DoesNotFit(kKey, why) {}
};

/// The processes of a run and which one this is. Worker 0 is the chief.
struct Cluster {
  int workers = 1, worker = 0;
};

/// A place's indices on the axes of a mesh.
struct MeshIndex {
  int data = 0, model = 0;
  friend bool operator==(const MeshIndex&, const MeshIndex&) = default;
};

/// The places of a run: data x model, the model index fastest. A replica is a row of places, which compute parts of the
/// layers for the same examples. In a pipeline, it is a row for each of its microbatches, whose layers are computed in
/// stages.
struct Mesh {
  int data = 1, model = 1;
  int microbatches = 1, stages = 1;  ///< of a replica

  int replicas() const { return data / microbatches; }
  int replica_of(int place) const { return data_index(place) / microbatches; }
  /// How many microbatches of a replica are computed at the same time: as many as there are stages.
  int in_flight() const { return std::min(microbatches, stages); }
  int places() const { return data * model; }
  int place(int data_index, int model_index) const { return data_index * model + model_index; }
  int data_index(int place) const { return place / model; }
  int model_index(int place) const { return place % model; }
  MeshIndex index(int place) const { return {data_index(place), model_index(place)}; }
  /// How many indices on the axis `model` a memory of so many places has.
  int parts_in(int places_of_memory) const { return std::min(model, places_of_memory); }
  /// Whether memories of so many neighbouring places have whole replicas, or the places of one are in several.
  bool fits(int places_of_memory) const { return places_of_memory % model == 0 || model % places_of_memory == 0; }
};

/// A stage of a replica's layers, or where several places divide these the part of one of them.
struct StagePlace {
  int replica = 0, stage = 0;
  int model = 0;  ///< the place's index on the axis `model`
};

/// Stages that follow each other.
struct StageRange {
  int first = 0, last = 0;
  bool has(int stage) const { return first <= stage && stage <= last; }
};

/// One thread that drives one device and runs the replicas assigned to it.
struct LanePlace {
  DeviceId device;
  int threads = 1;
  std::vector<int> cores;     ///< one per thread, or none: not pinned
  std::vector<int> replicas;  ///< their places' numbers in the run, ascending
  /// In a pipeline: what it computes, stage by stage. Whoever has the first stage of a replica in this process has its
  /// microbatches in `replicas`.
  std::vector<StagePlace> stages{};
};

/// "replica 2", "replicas 2, 3"; of a mesh with several places of a replica "places (0, 0), (0, 1)", data and model
/// index.
std::string place_names(const std::vector<int>& places, const Mesh& mesh);

/// The stages of a pipeline cannot be dealt to the devices.
struct WrongPipeline : DoesNotFit {
  static constexpr const char* kKey = "strategy.pipeline";
  explicit WrongPipeline(const std::string& why) : DoesNotFit(kKey, why) {}
};

/// A memory with variables and the lanes that compute on it: all CPU lanes of a process, or one GPU.
struct DomainPlace {
  std::vector<int> lanes;     ///< of this process
  std::vector<int> replicas;  ///< their places' numbers in the run, ascending
  int rank = 0;               ///< its number in the run
  bool on_host = true;        ///< the host reads and writes it directly
};

/// The participants of a run: its workers, its replicas and which of them are in this process, on which lanes and
/// memories. Plain data, created once. Every worker has the same number of places and of memories. A memory has the
/// places of whole replicas, or the places of a replica are in several memories that follow each other, a row of them,
/// each with as many. In a pipeline a worker has all stages of its replicas, or the stages of a replica are on several
/// workers that follow each other, a row of them, each with as many stages; all of a row have the replica's
/// microbatches among their places.
struct Topology {
  Cluster cluster;
  Mesh mesh;                       ///< the run's places, on all workers
  std::vector<LanePlace> lanes;    ///< of this process, all on CPUs or all on GPUs
  bool cores_of_their_own = true;  ///< no two lanes share a core
  std::vector<std::string> notes;  ///< for the log: the choices and their reasons

  bool on_gpus() const { return lanes.front().device.kind == DeviceId::Kind::kCuda; }
  bool is_chief() const { return cluster.worker == 0; }
  std::vector<DomainPlace> domains() const;
  /// The number of the run's memories, which are numbered worker by worker.
  int ranks() const { return cluster.workers * static_cast<int>(domains().size()); }
  /// In a pipeline: those that are computed in this process, and by which worker one of a replica is.
  StageRange stages_here() const;
  int worker_of_stage(int replica, int stage) const;
  /// Whether the stages of a replica are on several workers.
  bool has_stages_elsewhere() const { return mesh.stages > 1 && memories_of_replica() > 1; }
  /// How many memories a replica's places or stages are in, and whether those are several workers'.
  int memories_of_replica() const;
  bool replica_spans_workers() const { return memories_of_replica() > static_cast<int>(domains().size()); }
  /// The number of memories that have the same parts of the layers: all, unless a replica's places are in several.
  int memories_of_parts() const { return ranks() / memories_of_replica(); }
  /// The memories that exchange with each other along an axis, by their numbers in the run, ascending: those with the
  /// same parts of the layers, or those of a row. Empty if each would be alone.
  std::vector<std::vector<int>> memory_groups(ops::Axis axis) const;
};

/// One replica on a CPU device.
Topology one_replica();

/// Assigns replicas to devices. The number of threads of a replica depends only on the number of replicas here and the
/// machine's cores, not on the number of devices, since the same replicas must give the same bits on any number of
/// devices. `options` must be valid; they describe one worker. Throws UsageError for a device that does not exist and
/// for a number of replicas that the devices do not divide.
Topology make_topology(const StrategyOptions& options, std::int64_t global_batch, const Machine& machine,
                       const Cluster& cluster = {});

/// The mesh that make_topology would place on all workers. Throws WrongMesh if it cannot be dealt to the devices.
Mesh mesh_of(const StrategyOptions& options, std::int64_t global_batch, const Machine& machine, int workers = 1);

/// The number of replicas that make_topology would place on all workers. Throws UsageError if the devices do not divide
/// it.
int count_replicas(const StrategyOptions& options, std::int64_t global_batch, const Machine& machine, int workers = 1);

/// A replica's part of a global batch.
struct RowRange {
  std::int64_t first = 0, count = 0;
};

/// Splits `rows` into floor/ceil parts, larger parts first; a replica may get none.
RowRange rows_of_replica(std::int64_t rows, int replica, int replicas);
/// The part of the replica that a place is of.
inline RowRange rows_of_place(std::int64_t rows, int place, const Mesh& mesh) {
  return rows_of_replica(rows, mesh.data_index(place), mesh.data);
}

}  // namespace mirrortrain
