#include "strategy/topology.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/usable_cores.h"
#include "device/cpu/cpu_device.h"
#include "graph/sharding.h"
#include "strategy/pipeline_places.h"

namespace mirrortrain {
namespace {

/// With fewer examples than this, a replica spends its step waiting rather than computing.
constexpr std::int64_t kRowsWorthAReplica = 16;

/// The number of places that a worker shall have; nullopt: as many as there are devices.
std::optional<std::int64_t> wanted_places(const StrategyOptions& options, int workers) {
  if (options.pipeline) return stages_to_deal(options, workers);
  if (!options.mesh) return options.replicas;
  const auto data = number_of(options.mesh->data), model = number_of(options.mesh->model);
  if (data && model) return std::max<std::int64_t>(1, *data * *model / workers);
  return std::nullopt;
}

/// A number of CPU devices that suits the cores and the batch, or the requested number of places.
int suitable_cpu_devices(const StrategyOptions& options, std::int64_t global_batch, std::size_t cores, int workers) {
  if (options.declaration().has_one_device) return 1;
  std::optional<std::int64_t> places = wanted_places(options, workers);
  const bool chosen = options.cpu_replicas || places;
  if (options.declaration().has_servers && !chosen) return 1;  // it has all cores of its worker
  if (options.cpu_replicas) return static_cast<int>(*options.cpu_replicas);
  const auto core_count = static_cast<std::int64_t>(cores);
  if (!places) {
    const std::int64_t of_replica = options.mesh ? number_of(options.mesh->model).value_or(1) : 1;
    const std::int64_t most = std::max<std::int64_t>(1, core_count / of_replica);
    places = of_replica * std::clamp<std::int64_t>(global_batch / kRowsWorthAReplica, 1, most);
  }
  std::int64_t devices = std::min(*places, core_count);
  while (*places % devices != 0) --devices;
  return static_cast<int>(devices);
}

std::vector<DeviceId> devices_from(DeviceId::Kind kind, std::size_t first, std::size_t count) {
  std::vector<DeviceId> devices;
  for (std::size_t i = first; i < first + count; ++i) devices.push_back({kind, static_cast<int>(i)});
  return devices;
}

/// "2 tasks on this machine divide its 4 GPUs; this one has cuda:2, cuda:3"
std::string share_note(const LocalPlace& place, const GpuShare& share, std::size_t visible) {
  std::vector<std::string> names;
  for (const DeviceId& device : devices_from(DeviceId::Kind::kCuda, share.first, share.count)) {
    names.push_back(device.text());
  }
  return fmt::format("{} tasks on this machine divide its {} GPUs; this one has {}", place.tasks, visible,
                     fmt::join(names, ", "));
}

/// Throws WrongDevices if a listed GPU does not exist, or if only some of the devices are GPUs.
void require_gpus(const std::vector<DeviceId>& listed, const Machine& machine) {
  const auto is_gpu = [](const DeviceId& device) { return device.kind == DeviceId::Kind::kCuda; };
  if (std::none_of(listed.begin(), listed.end(), is_gpu)) return;
  if (!std::all_of(listed.begin(), listed.end(), is_gpu)) throw WrongDevices(kMixedDevices);
  const cuda::Gpus found = machine.gpus();
  for (const DeviceId& device : listed) {
    if (static_cast<std::size_t>(device.index) < found.gpus.size()) continue;
    const std::string why =
        found.gpus.empty() ? found.why_none : fmt::format("the last visible GPU is cuda:{}", found.gpus.size() - 1);
    throw WrongDevices(
        fmt::format("{} does not exist: {}; use `devices: all`, which takes what exists", device.text(), why));
  }
}

std::vector<DeviceId> chosen_devices(const StrategyOptions& options, std::int64_t global_batch, const Machine& machine,
                                     int workers, Topology& topology) {
  if (const auto* listed = std::get_if<std::vector<DeviceId>>(&options.devices)) {
    return *listed;
  }
  const cuda::Gpus found = machine.gpus();
  if (!found.gpus.empty()) {
    const GpuShare share = share_of_gpus(machine.place, found.gpus.size());
    if (share.count < found.gpus.size()) topology.notes.push_back(share_note(machine.place, share, found.gpus.size()));
    return devices_from(DeviceId::Kind::kCuda, share.first, options.declaration().has_one_device ? 1 : share.count);
  }
  const std::size_t cores = machine.cores.size();
  const int count = suitable_cpu_devices(options, global_batch, cores, workers);
  topology.notes.push_back(fmt::format("{}: {} CPU device{} on {} core{}", found.why_none, count, count == 1 ? "" : "s",
                                       cores, cores == 1 ? "" : "s"));
  return devices_from(DeviceId::Kind::kCpu, 0, static_cast<std::size_t>(count));
}

int number_of_replicas(const StrategyOptions& options, std::size_t devices) {
  const auto listed = static_cast<int>(devices);
  if (!options.replicas) return listed;
  const auto replicas = static_cast<int>(*options.replicas);
  if (replicas % listed != 0) {
    throw UsageError(
        fmt::format("strategy.replicas: expected a multiple of the {} devices, found {}", listed, replicas));
  }
  return replicas;
}

/// `data x model` of a run with this many devices of each worker.
Mesh mesh_on(const StrategyOptions& options, std::size_t devices, int workers) {
  if (options.pipeline) return mesh_of_pipeline(options, devices, workers);
  if (!options.mesh) return {workers * number_of_replicas(options, devices), 1};
  const auto all = static_cast<std::int64_t>(devices) * workers;
  const auto data = number_of(options.mesh->data), model = number_of(options.mesh->model);
  const auto left_by = [all](std::int64_t other) { return std::max<std::int64_t>(1, all / other); };
  const std::int64_t d = data ? *data : left_by(model.value_or(1)), m = model ? *model : left_by(d);
  const auto refuse = [&](const std::string& why) {
    throw WrongMesh(fmt::format("{} x {} = {} places {}", d, m, d * m, why));
  };
  if (d * m % all != 0) {
    refuse(fmt::format("cannot be dealt to {} device{}{}, each the same number; expected a multiple of {}", all,
                       all == 1 ? "" : "s", workers == 1 ? "" : fmt::format(" of {} workers", workers), all));
  }
  const Mesh mesh{static_cast<int>(d), static_cast<int>(m)};
  if (const int here = mesh.places() / workers; !mesh.fits(here)) {
    refuse(fmt::format(
        "on {} workers, {} each: a replica's {} have to be on one worker, or on several that have no other; "
        "use a `data` that is a multiple of the workers",
        workers, here, m));
  }
  return mesh;
}

std::int64_t batch_of_worker(std::int64_t global_batch, int workers) {
  return std::max<std::int64_t>(1, global_batch / workers);
}

/// Throws WrongMesh unless each memory has whole replicas, or as many neighbouring places of one as the others.
void require_rows(const Topology& topology) {
  const int model = topology.mesh.model;
  if (model == 1) return;
  const std::vector<DomainPlace> domains = topology.domains();
  const auto places = static_cast<int>(domains.front().replicas.size());
  for (const DomainPlace& domain : domains) {
    const std::vector<int>& own = domain.replicas;
    const bool follow = own.back() - own.front() + 1 == std::ssize(own);
    if (follow && std::ssize(own) == places && topology.mesh.fits(places)) continue;
    throw WrongMesh(fmt::format(
        "the {} places of a replica have to be in one memory, or in several that have as many of them each, "
        "and {} would have {}; list each GPU once",
        model, topology.lanes[static_cast<std::size_t>(domain.lanes.front())].device.text(),
        place_names(own, topology.mesh)));
  }
}

LanePlace& lane_of(std::vector<LanePlace>& lanes, const DeviceId& device) {
  const auto found =
      std::find_if(lanes.begin(), lanes.end(), [&](const LanePlace& lane) { return lane.device == device; });
  if (found != lanes.end()) return *found;
  lanes.push_back({device, 1, {}, {}});
  return lanes.back();
}

}  // namespace

Machine this_machine() { return {usable_cores(), cuda::visible_gpus}; }

Machine this_machine(const std::optional<ClusterSpec>& cluster) {
  Machine machine = this_machine();
  if (cluster) machine.place = cluster->local;
  return machine;
}

GpuShare share_of_gpus(const LocalPlace& place, std::size_t visible) {
  const auto tasks = static_cast<std::size_t>(place.tasks), asked = static_cast<std::size_t>(place.gpus_per_task);
  const bool sees_its_own = visible < static_cast<std::size_t>(place.gpus_of_host) || visible == asked;
  if (tasks == 1 || sees_its_own || visible < tasks) return {0, visible};
  const std::size_t each = asked > 0 ? asked : visible / tasks;
  if (each * tasks > visible) {
    throw WrongDevices(
        fmt::format("{} tasks of {} GPUs each (SLURM_GPUS_PER_TASK) are on this machine, which has {}; ask for fewer, "
                    "or list the devices",
                    tasks, each, visible));
  }
  return {static_cast<std::size_t>(place.index) * each, each};
}

std::string place_names(const std::vector<int>& places, const Mesh& mesh) {
  std::vector<std::string> names;
  for (const int place : places) {
    names.push_back(mesh.model == 1 ? fmt::to_string(place)
                                    : fmt::format("({}, {})", mesh.data_index(place), mesh.model_index(place)));
  }
  return fmt::format("{}{} {}", mesh.model == 1 ? "replica" : "place", places.size() == 1 ? "" : "s",
                     fmt::join(names, ", "));
}

std::vector<DomainPlace> Topology::domains() const {
  std::vector<DomainPlace> domains;
  for (int lane = 0; lane < static_cast<int>(lanes.size()); ++lane) {
    const std::vector<int>& own = lanes[static_cast<std::size_t>(lane)].replicas;
    if (domains.empty() || on_gpus()) domains.push_back({{}, {}, static_cast<int>(domains.size()), !on_gpus()});
    DomainPlace& domain = domains.back();
    domain.lanes.push_back(lane);
    domain.replicas.insert(domain.replicas.end(), own.begin(), own.end());
    std::sort(domain.replicas.begin(), domain.replicas.end());
  }
  for (DomainPlace& domain : domains) domain.rank += cluster.worker * static_cast<int>(domains.size());
  return domains;
}

int Topology::memories_of_replica() const {
  if (mesh.stages > 1) return workers_of_replica(mesh.replicas(), cluster.workers);
  return mesh.model / mesh.parts_in(static_cast<int>(domains().front().replicas.size()));
}

std::vector<std::vector<int>> Topology::memory_groups(ops::Axis axis) const {
  const int in_row = memories_of_replica(), all = ranks();
  const bool are_rows = axis == ops::Axis::kModel;
  std::vector<std::vector<int>> groups(static_cast<std::size_t>(are_rows ? all / in_row : in_row));
  for (int memory = 0; memory < all; ++memory) {
    groups[static_cast<std::size_t>(are_rows ? memory / in_row : memory % in_row)].push_back(memory);
  }
  if (groups.front().size() == 1) groups.clear();
  return groups;
}

Mesh mesh_of(const StrategyOptions& options, std::int64_t global_batch, const Machine& machine, int workers) {
  Topology unused;
  const std::vector<DeviceId> devices =
      chosen_devices(options, batch_of_worker(global_batch, workers), machine, workers, unused);
  return mesh_on(options, devices.size(), workers);
}

int count_replicas(const StrategyOptions& options, std::int64_t global_batch, const Machine& machine, int workers) {
  return mesh_of(options, global_batch, machine, workers).replicas();
}

Topology one_replica() {
  Topology topology;
  topology.lanes.push_back({{DeviceId::Kind::kCpu, 0}, 1, {}, {0}});
  return topology;
}

Topology make_topology(const StrategyOptions& options, std::int64_t global_batch, const Machine& machine,
                       const Cluster& cluster) {
  Topology topology;
  topology.cluster = cluster;
  const std::vector<DeviceId> devices =
      chosen_devices(options, batch_of_worker(global_batch, cluster.workers), machine, cluster.workers, topology);
  require_gpus(devices, machine);
  const bool on_gpus = devices.front().kind == DeviceId::Kind::kCuda;
  if (options.cross_device_ops == CrossDeviceOps::kNccl && !on_gpus) {
    throw UsageError(fmt::format("strategy.cross_device_ops: {}", kNcclNeedsGpus));
  }
  topology.mesh = mesh_on(options, devices.size(), cluster.workers);
  if (topology.mesh.model > 1) {
    if (const std::string conflict = conflict_with_divided_layers(options); !conflict.empty())
      throw WrongMesh(conflict);
  }
  // What is dealt to the devices: places, or what the worker has of a pipeline.
  std::vector<StagePlace> stages;
  if (options.pipeline) stages = stages_of_worker(topology);
  const int here = options.pipeline ? static_cast<int>(stages.size()) : topology.mesh.places() / cluster.workers;
  const int each = here / static_cast<int>(devices.size());
  for (int place = 0; place < here; ++place) {
    LanePlace& lane = lane_of(topology.lanes, devices[static_cast<std::size_t>(place / each)]);
    if (options.pipeline) {
      add_stage(lane, stages[static_cast<std::size_t>(place)], topology.mesh, topology.stages_here());
    } else {
      lane.replicas.push_back(cluster.worker * here + place);
    }
  }
  if (!options.pipeline) require_rows(topology);
  if (options.pipeline && on_gpus && topology.lanes.size() > 1) {
    throw WrongPipeline(fmt::format(
        "each process has one GPU of a pipeline, and this one {}; start a process for each GPU, as `mirrortrain launch "
        "--workers {}` does, or list one in strategy.devices",
        topology.lanes.size(), topology.lanes.size() * static_cast<std::size_t>(cluster.workers)));
  }

  const std::vector<int>& cores = machine.cores;
  const auto core_count = static_cast<int>(cores.size());
  if (on_gpus) {  // a lane's thread only enqueues
    topology.cores_of_their_own = static_cast<int>(topology.lanes.size()) <= core_count;
    return topology;
  }
  const int threads = static_cast<int>(options.threads_per_replica.value_or(std::max(1, core_count / here)));
  const int wanted = threads * static_cast<int>(topology.lanes.size());
  topology.cores_of_their_own = wanted <= core_count;
  // Pinned only if the run uses the whole machine: concurrent runs must not share the same cores.
  const bool pin = wanted == core_count;
  int next = 0;
  for (LanePlace& lane : topology.lanes) {
    lane.threads = threads;
    for (int i = 0; pin && i < threads; ++i) lane.cores.push_back(cores[static_cast<std::size_t>(next++)]);
  }
  return topology;
}

RowRange rows_of_replica(std::int64_t rows, int replica, int replicas) {
  const AxisPart part = part_of(rows, {replica, replicas});
  return {part.first, part.count};
}

}  // namespace mirrortrain
