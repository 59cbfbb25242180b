#include "train/session/run_cluster.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <numeric>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/version.h"
#include "cluster/address.h"
#include "cluster/discover.h"
#include "cluster/reachable_host.h"
#include "collective/gloo/gloo_communicator.h"
#include "collective/mpi/mpi_communicator.h"
#include "collective/nccl/nccl_communicator.h"
#include "collective/shared_memory/shared_memory_communicator.h"
#include "collective/unconnected_communicator.h"
#include "train/checkpoint/non_finite.h"
#include "train/session/run_strategy.h"

namespace mirrortrain {
namespace {

/// After so many seconds an elastic run continues without workers that do not reach each other.
constexpr double kElasticReach = 10;

/// The keys that must be the same on every task: all but the task itself. Files may be in another folder on another
/// machine, so only their names are compared.
std::vector<std::pair<std::string, std::string>> shared_keys(const Configuration& values) {
  auto keys = config::flatten(config::Codec<Configuration>::show(values));
  std::erase_if(keys, [](const auto& key) { return key.first.starts_with("strategy.cluster"); });
  for (auto& [key, value] : keys) {
    if (value.starts_with('/')) value = std::filesystem::path(value).filename().string();
  }
  return keys;
}

void require_whole_replicas(const Topology& topology, const StrategyOptions& options) {
  if (!options.elastic || !topology.replica_spans_workers()) return;
  throw UsageError(
      "strategy.elastic: a worker that is lost takes its part of a replica's layers with it; leave elastic out, or "
      "keep the places of a replica on one worker");
}

/// Where the others reach this task's listeners. Where the launcher gives the chief's address alone, and that is a
/// loopback one, all tasks are on this machine.
std::string own_host(const ClusterSpec& cluster) {
  const std::string& address = cluster.address(cluster.task);
  if (!address.empty()) return Address::of(address).host;
  const std::string chief = Address::of(cluster.address(cluster.chief_task())).host;
  return is_beyond_loopback(chief) ? reachable_host() : chief;
}

/// What would carry the operations of such workers on CPUs, as far as their addresses say.
std::string expected_transport(const ClusterSpec& cluster, const StrategyOptions& options) {
  if (cluster.mpi) return std::string(transport::kMpi);
  const auto host_of = [&](const Task& task) {
    const std::string& address = cluster.address(task);
    return address.empty() ? "" : Address::of(address).host;
  };
  const std::vector<Task> tasks = cluster.trainers();
  const std::string host = host_of(cluster.chief_task());
  const bool is_one_machine = std::ranges::all_of(tasks, [&](const Task& task) { return host_of(task) == host; });
  const bool shares = is_one_machine && options.communication.implementation == Transport::kAuto;
  return std::string(shares ? transport::kSharedMemory : transport::kGloo);
}

}  // namespace

std::optional<ClusterSpec> cluster_of(const Configuration& values, const Environment& environment) {
  if (!values.strategy.declaration().on_cluster) return std::nullopt;
  return discover_cluster(values.strategy.cluster, environment);
}

void require_cluster(const CheckedConfiguration& checked, const Environment& environment) {
  const StrategyOptions& options = checked.values().strategy;
  const strategies::Declaration& type = options.declaration();
  if (options.elastic && !type.refuses.elastic.empty()) {
    throw UsageError(fmt::format("strategy.elastic: {}", type.refuses.elastic));
  }
  if (type.on_cluster) {
    if (checked.cluster && !type.has_servers && !checked.cluster->ps.empty()) {
      throw UsageError(
          fmt::format("{}: {} has no parameter servers; leave out the cluster's ps tasks, or use strategy.type: {}",
                      checked.cluster->source, type.name, declaration_of(kWorkersWithServers).name));
    }
    if (options.elastic && checked.cluster && checked.cluster->evaluator) {
      throw UsageError(fmt::format("{}: strategy.elastic goes without an evaluator; leave it out of the cluster",
                                   checked.cluster->source));
    }
    if (options.elastic && checked.cluster && checked.cluster->mpi) {
      throw UsageError(fmt::format(
          "strategy.elastic: {} ends every task when one is lost; start the tasks with `mirrortrain launch`, "
          "or set TF_CONFIG",
          checked.cluster->source));
    }
    const data::DataOptions& data = checked.values().data;
    if (checked.cluster && checked.cluster->evaluator && !data.validation.value && !data.test.value) {
      throw UsageError(fmt::format(
          "{}: the evaluator has nothing to evaluate on: give data.validation or data.test, or leave it out",
          checked.cluster->source));
    }
    if (checked.cluster && type.has_servers) {
      require_parameter_server_jobs(*checked.cluster);
      // Checks the assignment of shards to servers, and whether the optimizer can update them there.
      if (checked.has_model() && checked.values().optimizer) {
        placement_of(checked, static_cast<int>(checked.cluster->ps.size()));
      }
    }
    if (checked.cluster) return;
    const bool is_set = !environment("TF_CONFIG").value_or("").empty();
    throw UsageError(
        fmt::format("strategy.type: {} needs a cluster, and {}: start the tasks with `mirrortrain launch`, "
                    "mpirun, srun or torchrun, set TF_CONFIG, or list them in strategy.cluster",
                    type.name, is_set ? "TF_CONFIG has no `cluster`" : "none was found"));
  }
  if (const auto processes = several_processes(environment)) {
    throw UsageError(
        fmt::format("strategy.type: {} trains in one process, but {}: each of them would do the same; use {}, or start "
                    "one",
                    type.name, *processes, declaration_of(kWorkersInSync).name));
  }
}

RunCluster::RunCluster(const CheckedConfiguration& checked, const std::string& command,
                       const rpc::Generation& generation, const Environment& environment)
    : spec_(*checked.cluster),
      mpi_(spec_.mpi ? mpi::Session::start(spec_, environment) : nullptr),
      security_(rpc::Security::from(checked.values().strategy.cluster, environment)) {
  rpc::Timeouts timeouts;
  const CommunicationOptions& communication = checked.values().strategy.communication;
  timeouts.silence_seconds = communication.timeout_seconds;
  std::vector<grpc::Service*> services;
  if (checked.values().strategy.declaration().has_servers) {
    servers_.emplace(checked, spec_, security_);
    timeouts = servers_->timeouts();
    services = servers_->services();
  } else {
    timeouts.may_leave = {Job::kEvaluator};
    timeouts.elastic = checked.values().strategy.elastic;
    if (const std::optional<double> regroup = communication.regroup_timeout()) timeouts.regroup_seconds = *regroup;
  }
  timeouts.join_seconds = communication.join_timeout_seconds;
  rpc::Handshake handshake{kVersion, shared_keys(checked.values())};
  handshake.configuration.emplace_back("the command", command);
  handshake.configuration.emplace_back("the token", security_.has_token() ? "given" : "");
  for (const Task& task : spec_.tasks()) {
    handshake.configuration.emplace_back("the address of " + task.text(), spec_.address(task));
  }
  control_ = rpc::ControlPlane::join(spec_, security_, handshake, timeouts, services, generation);
  spec_ = control_->cluster();
}

bool RunCluster::trains_in_step() const { return !servers_ && std::ranges::count(spec_.trainers(), spec_.task) > 0; }

void RunCluster::end_with(const std::exception& error) const {
  const bool is_usage = dynamic_cast<const UsageError*>(&error) != nullptr;
  const bool is_non_finite = dynamic_cast<const NonFinite*>(&error) != nullptr;
  control_->fail(error.what(), is_usage ? UsageError::kExitCode : is_non_finite ? NonFinite::kExitCode : 1);
  if (!control_->regroups()) {
    if (control_->failed_exit_code() == UsageError::kExitCode) throw UsageError(error.what());
    if (control_->failed_exit_code() == NonFinite::kExitCode) throw NonFinite(error.what());
  }
  throw;
}

std::optional<ParameterServerRole> RunCluster::parameter_servers() const {
  if (!servers_) return std::nullopt;
  return servers_->role();
}

void RunCluster::require_same(const std::string& what, const std::string& value) const {
  const std::string key = "same " + what;
  if (spec_.is_chief()) return control_->put(key, value);
  const std::string chiefs = control_->get(key);
  if (chiefs == value) return;
  throw UsageError(fmt::format("{}: the {} is {} here, but {} on {}; it must be the same on every worker",
                               spec_.describe(spec_.task), what, value, chiefs, spec_.describe(spec_.chief_task())));
}

void RunCluster::require_same_data(const Run& run) const {
  for (const auto& [split, name] :
       {std::pair(data::Split::kTrain, "training data"), std::pair(data::Split::kValidation, "validation data"),
        std::pair(data::Split::kTest, "test data")}) {
    if (run.split(split) != nullptr) require_same(name, run.fingerprint(split));
  }
}

Cluster workers_of(const ClusterSpec& cluster) {
  const std::vector<Task> trainers = cluster.trainers();
  const auto own = std::ranges::find(trainers, cluster.task);
  return {static_cast<int>(trainers.size()), static_cast<int>(own - trainers.begin())};
}

Cluster RunCluster::workers() const { return workers_of(spec_); }

Hardware unconnected_hardware(const CheckedConfiguration& checked) {
  Hardware hardware = this_hardware();
  if (!checked.cluster) return hardware;
  const ClusterSpec& cluster = *checked.cluster;
  hardware.machine.place = cluster.local;
  const std::vector<Task> trainers = cluster.trainers();
  const bool is_trainer = std::ranges::count(trainers, cluster.task) > 0;
  if (checked.values().strategy.declaration().has_servers || !is_trainer || trainers.size() == 1) return hardware;
  hardware.cluster = workers_of(cluster);
  hardware.communicators = [cluster](const Topology& topology, const StrategyOptions& options, const ReductionChoice&,
                                     const Backend&, std::span<Device* const>) {
    require_whole_replicas(topology, options);
    const std::string carrier =
        topology.on_gpus() ? std::string(transport::kNccl) : expected_transport(cluster, options);
    const bool travels = carrier != transport::kSharedMemory;
    const auto group = [travels](const MemoryGroup& of) {
      std::vector<std::unique_ptr<Communicator>> ranks;
      for (std::size_t i = 0; i < of.here.size(); ++i) {
        ranks.push_back(make_unconnected_communicator(of.first_rank + static_cast<int>(i),
                                                      static_cast<int>(of.memories.size()), travels));
      }
      return owned(std::move(ranks));
    };
    RunCommunicators made;
    made.transport = carrier;
    made.along_model = communicators_along(ops::Axis::kModel, topology, group);
    made.along_data = communicators_along(ops::Axis::kData, topology, group);
    made.stages = stage_communicators(topology, [&](const StagePair& pair) -> std::shared_ptr<Communicator> {
      return make_unconnected_communicator(topology.cluster.worker == pair.lower ? 0 : 1, 2);
    });
    Communicators& longest = made.along_data.ranks.empty() ? made.along_model : made.along_data;
    std::shared_ptr<Communicator> workers =
        make_unconnected_communicator(topology.cluster.worker, topology.cluster.workers);
    made.workers = workers.get();
    longest.owner =
        std::make_shared<std::pair<std::shared_ptr<void>, std::shared_ptr<Communicator>>>(longest.owner, workers);
    return made;
  };
  return hardware;
}

/// The communicator in host memory of some of the workers, which has this one, and its transport. `purpose`: of one
/// whose operations not all of the run's workers make, and which are therefore not counted; "" for others.
std::pair<std::shared_ptr<Communicator>, std::string> RunCluster::among_workers(std::span<const int> workers,
                                                                                const StrategyOptions& strategy,
                                                                                std::string_view purpose) const {
  const CommunicationOptions& options = strategy.communication;
  const double timeout = options.timeout_seconds;
  const std::string prefix = fmt::format("workers {}{}: ", fmt::join(workers, ","), purpose);
  const RendezvousStore rendezvous{
      [this, prefix](const std::string& key, const std::string& value) { control_->put(prefix + key, value); },
      [this, prefix](const std::string& key) { return control_->get(prefix + key); },
      [this, prefix](const std::string& key, int rank, int size, std::span<const std::string> values) {
        return control_->gather(prefix + key, rank, size, values);
      },
      [this] { return control_->failure(); }};
  std::vector<Task> tasks;  // by rank
  for (const int worker : workers) tasks.push_back(spec_.trainers()[static_cast<std::size_t>(worker)]);
  OperationWatch watch{[this](std::string_view what) { control_->begin_operation(what); },
                       [this] { control_->end_operation(); },
                       [this, tasks](const std::string& error, std::span<const int> unreached) {
                         std::vector<Task> others;
                         for (const int rank : unreached) others.push_back(tasks[static_cast<std::size_t>(rank)]);
                         return control_->explain(error, others);
                       }};
  if (!purpose.empty()) watch.begin = nullptr, watch.end = nullptr;
  if (mpi_)
    return {make_mpi_communicator(mpi_, timeout, watch, {workers.begin(), workers.end()}),
            std::string(transport::kMpi)};
  const auto size = static_cast<int>(workers.size());
  const auto rank = static_cast<int>(std::ranges::find(workers, this->workers().worker) - workers.begin());
  if (options.implementation == Transport::kAuto) {
    auto shared = make_shared_memory_communicator(rank, size, timeout, rendezvous, watch);
    if (shared) return {std::move(shared), std::string(transport::kSharedMemory)};
  }
  GlooOptions gloo{rank, size, own_host(spec_), timeout};
  if (strategy.elastic) gloo.reach_seconds = kElasticReach;
  return {make_gloo_communicator(gloo, rendezvous, watch), std::string(transport::kGloo)};
}

/// Warns where the places of a replica, which exchange activations in every layer, are on several machines.
void RunCluster::warn_of_distance(const Topology& topology) const {
  if (!topology.replica_spans_workers() || topology.has_stages_elsewhere() || !topology.is_chief()) return;
  const std::vector<Task> trainers = spec_.trainers();
  const auto memories = static_cast<int>(topology.domains().size());
  for (const std::vector<int>& row : topology.memory_groups(ops::Axis::kModel)) {
    std::set<std::string> hosts;
    for (const int memory : row) {
      const std::string& address = spec_.address(trainers[static_cast<std::size_t>(memory / memories)]);
      if (!address.empty()) hosts.insert(Address::of(address).host);
    }
    if (hosts.size() < 2) continue;
    spdlog::warn(
        "strategy.mesh: the places of a replica are on several machines ({}), and exchange activations in every layer; "
        "a `model` of the places that a machine has is faster",
        fmt::join(hosts, ", "));
    return;
  }
}

/// The pairs of workers with neighbouring stages. MPI's communicators are made by all workers together.
StageCommunicators RunCluster::among_stages(const Topology& topology, const StrategyOptions& strategy) const {
  return stage_communicators(topology, [&](const StagePair& pair) -> std::shared_ptr<Communicator> {
    const std::array both = {pair.lower, pair.lower + 1};
    const bool takes_part = std::ranges::count(both, topology.cluster.worker) > 0;
    const std::string purpose = fmt::format(" ({} {})", pair.is_up ? "activations" : "gradients", pair.model);
    if (!topology.on_gpus()) {
      return mpi_ || takes_part ? among_workers(both, strategy, purpose).first : nullptr;
    }
    if (!takes_part) return nullptr;
    const MemoryGroup group{{both.begin(), both.end()}, topology.cluster.worker - pair.lower, {0}};
    const Communicators ranks = among_gpus(group, topology, strategy.communication.timeout_seconds, purpose);
    return {ranks.owner, ranks.ranks.front()};
  });
}

/// This process's ranks in a group of GPUs.
Communicators RunCluster::among_gpus(const MemoryGroup& group, const Topology& topology, double timeout,
                                     std::string_view purpose) const {
  std::vector<int> gpus;
  for (const std::size_t lane : group.here) gpus.push_back(topology.lanes[lane].device.index);
  const std::string key = fmt::format("nccl id of {}{}", fmt::join(group.memories, ","), purpose);
  if (group.first_rank == 0) control_->put(key, make_nccl_id());
  const NcclWorld world{group.first_rank, static_cast<int>(group.memories.size()), control_->get(key),
                        [this] { return control_->failure(); }};
  return owned(make_nccl_communicators(gpus, timeout, world));
}

Hardware RunCluster::hardware() const {
  Hardware hardware = this_hardware();
  hardware.machine.place = spec_.local;
  if (servers_) return hardware;
  hardware.cluster = workers();
  if (hardware.cluster.workers == 1) return hardware;
  hardware.communicators = [this](const Topology& topology, const StrategyOptions& options, const ReductionChoice&,
                                  const Backend&, std::span<Device* const>) {
    require_whole_replicas(topology, options);
    require_same("division of the run", fmt::format("{} x {} places in {} memories of each worker", topology.mesh.data,
                                                    topology.mesh.model, topology.domains().size()));
    if (topology.replica_spans_workers() && !topology.has_stages_elsewhere() && !topology.on_gpus()) {
      // Each place computes the gradients of whole variables itself: in the same parts, for the same bits.
      require_same("number of threads of a place", std::to_string(topology.lanes.front().threads));
    }
    warn_of_distance(topology);
    std::vector<int> all(static_cast<std::size_t>(topology.cluster.workers));
    std::iota(all.begin(), all.end(), 0);
    const auto [workers, carrier] = among_workers(all, options);
    // Until the strategy exists and aborts all: the first operations wait for workers that are still building.
    control_->on_failure([workers = workers](const std::string& reason) { workers->abort(reason); });
    const auto group = [&, workers = workers](const MemoryGroup& of) -> Communicators {
      if (topology.on_gpus()) return among_gpus(of, topology, options.communication.timeout_seconds);
      if (of.memories.size() == all.size()) return {workers, {workers.get()}};
      std::shared_ptr<Communicator> some = among_workers(of.memories, options).first;
      return {some, {some.get()}};
    };
    RunCommunicators made;
    made.along_model = communicators_along(ops::Axis::kModel, topology, group);
    made.along_data = communicators_along(ops::Axis::kData, topology, group);
    made.stages = among_stages(topology, options);
    made.workers = workers.get();
    made.transport = topology.on_gpus() ? std::string(transport::kNccl) : carrier;
    control_->on_failure([workers = workers, along = std::vector{made.along_model, made.along_data},
                          stages = made.stages](const std::string& reason) {
      workers->abort(reason);
      stages.abort(reason);
      for (const Communicators& groups : along) {
        for (Communicator* const rank : groups.ranks) rank->abort(reason);
      }
    });
    // The workers' communicator lives as long as the ranks.
    Communicators& longest = made.along_data.ranks.empty() ? made.along_model : made.along_data;
    longest.owner =
        std::make_shared<std::pair<std::shared_ptr<void>, std::shared_ptr<Communicator>>>(longest.owner, workers);
    return made;
  };
  return hardware;
}

}  // namespace mirrortrain
