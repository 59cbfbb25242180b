#include "train/session/run_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "cluster/address.h"
#include "cluster/discover.h"
#include "cluster/reachable_host.h"
#include "collective/gloo/gloo_communicator.h"
#include "collective/mpi/mpi_communicator.h"
#include "collective/nccl/nccl_communicator.h"
#include "collective/shared_memory/shared_memory_communicator.h"
#include "train/checkpoint/non_finite.h"

namespace mirrortrain {
namespace {

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

}  // namespace

std::optional<ClusterSpec> cluster_of(const Configuration& values, const Environment& environment) {
  if (!is_of_several_processes(values.strategy.type)) return std::nullopt;
  return discover_cluster(values.strategy.cluster, environment);
}

void require_cluster(const CheckedConfiguration& checked, const Environment& environment) {
  const StrategyOptions& options = checked.values().strategy;
  const std::string type(config::name_of(options.type));
  if (is_of_several_processes(options.type)) {
    if (checked.cluster && options.type == StrategyType::kMultiWorkerMirrored && !checked.cluster->ps.empty()) {
      throw UsageError(
          fmt::format("{}: multi_worker_mirrored has no parameter servers; leave out the cluster's ps tasks, or "
                      "use strategy.type: parameter_server",
                      checked.cluster->source));
    }
    if (options.elastic && is_served(options.type)) {
      throw UsageError(
          "strategy.elastic: parameter_server's workers may always leave and come back; leave elastic out");
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
    if (checked.cluster && is_served(options.type)) {
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
                    type, is_set ? "TF_CONFIG has no `cluster`" : "none was found"));
  }
  if (options.elastic) {
    throw UsageError(
        fmt::format("strategy.elastic: only multi_worker_mirrored loses workers, and strategy.type is {}", type));
  }
  if (const auto processes = several_processes(environment)) {
    throw UsageError(
        fmt::format("strategy.type: {} trains in one process, but {}: each of them would do the same; use "
                    "multi_worker_mirrored, or start one",
                    type, *processes));
  }
}

RunCluster::RunCluster(const CheckedConfiguration& checked, const std::string& command,
                       const rpc::Generation& generation, const Environment& environment)
    : spec_(*checked.cluster),
      mpi_(spec_.mpi ? mpi::Session::start(spec_, environment) : nullptr),
      security_(rpc::Security::from(checked.values().strategy.cluster)) {
  rpc::Timeouts timeouts;
  timeouts.silence_seconds = checked.values().strategy.communication.timeout_seconds;
  std::vector<grpc::Service*> services;
  if (is_served(checked.values().strategy.type)) {
    servers_.emplace(checked, spec_, security_);
    timeouts = servers_->timeouts();
    services = servers_->services();
  } else {
    timeouts.may_leave = {Job::kEvaluator};
    timeouts.elastic = checked.values().strategy.elastic;
    const std::optional<double> regroup = checked.values().strategy.communication.regroup_timeout();
    if (regroup) timeouts.regroup_seconds = *regroup;
  }
  rpc::Handshake handshake{MIRRORTRAIN_VERSION, shared_keys(checked.values())};
  handshake.configuration.emplace_back("the command", command);
  handshake.configuration.emplace_back("strategy.cluster.token_file", security_.has_token() ? "given" : "");
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

Cluster RunCluster::workers() const {
  const std::vector<Task> trainers = spec_.trainers();
  const auto own = std::ranges::find(trainers, spec_.task);
  return {static_cast<int>(trainers.size()), static_cast<int>(own - trainers.begin())};
}

/// The communicator in host memory across the workers, and its transport.
std::pair<std::shared_ptr<Communicator>, std::string> RunCluster::among_workers(const Cluster& cluster, bool may_share,
                                                                                double timeout,
                                                                                const RendezvousStore& meeting,
                                                                                const OperationWatch& watch) const {
  if (mpi_) return {make_mpi_communicator(mpi_, timeout, watch), "MPI"};
  if (may_share) {
    auto shared = make_shared_memory_communicator(cluster.worker, cluster.workers, timeout, meeting, watch);
    if (shared) return {std::move(shared), "shared memory"};
  }
  const std::string& address = spec_.address(spec_.task);
  const std::string host = address.empty() ? reachable_host() : Address::of(address).host;
  return {make_gloo_communicator({cluster.worker, cluster.workers, host, timeout}, meeting, watch), "gloo"};
}

Hardware RunCluster::hardware() const {
  Hardware hardware = this_hardware();
  if (servers_) return hardware;
  hardware.cluster = workers();
  if (hardware.cluster.workers == 1) return hardware;
  hardware.communicators = [this](const Topology& topology, const StrategyOptions& options, const ReductionChoice&,
                                  const Backend&, std::span<Device* const>) {
    const double timeout = options.communication.timeout_seconds;
    require_same("number of replicas", std::to_string(topology.mesh.data / topology.cluster.workers));
    const RendezvousStore meeting{
        [this](const std::string& key, const std::string& value) { control_->put(key, value); },
        [this](const std::string& key) { return control_->get(key); }};
    const OperationWatch watch{[this](std::string_view what) { control_->begin_operation(what); },
                               [this] { control_->end_operation(); },
                               [this](const std::string& error) { return control_->explain(error); }};
    const bool may_share = options.communication.implementation == Transport::kAuto;
    const auto [workers, transport] = among_workers(topology.cluster, may_share, timeout, meeting, watch);
    Communicator* const rank = workers.get();
    // Until the strategy exists and aborts all: the first operations wait for workers that are still building.
    control_->on_failure([workers = workers](const std::string& reason) { workers->abort(reason); });
    if (!topology.on_gpus()) return RunCommunicators{{workers, {rank}}, rank, transport};

    std::vector<int> gpus;
    for (const LanePlace& lane : topology.lanes) gpus.push_back(lane.device.index);
    if (topology.is_chief()) control_->put("nccl id", make_nccl_id());
    const NcclWorld world{topology.cluster.worker * static_cast<int>(gpus.size()), topology.ranks(),
                          control_->get("nccl id"), [this] { return control_->failure(); }};
    Communicators ranks = owned(make_nccl_communicators(gpus, timeout, world));
    // Both live as long as the ranks.
    ranks.owner =
        std::make_shared<std::pair<std::shared_ptr<void>, std::shared_ptr<Communicator>>>(ranks.owner, workers);
    return RunCommunicators{std::move(ranks), rank, "NCCL"};
  };
  return hardware;
}

}  // namespace mirrortrain
