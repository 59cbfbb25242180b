#include "train/session/parameter_server_task.h"

#include <fmt/format.h>

#include "base/error.h"
#include "strategy/parameter_server/worker.h"
#include "train/session/run_strategy.h"

namespace mirrortrain {
namespace {

/// For the data sets that chief and workers both load.
RunParts parts_of_every_task() { return {.evaluates = {data::Split::kValidation, data::Split::kTest}}; }

}  // namespace

void require_parameter_server_jobs(const ClusterSpec& cluster) {
  const std::string missing = !cluster.chief            ? "a chief, which runs the training loop"
                              : cluster.workers.empty() ? "workers, which compute the steps"
                              : cluster.ps.empty()      ? "ps tasks, which keep the variables"
                                                        : "";
  if (missing.empty()) return;
  throw UsageError(
      fmt::format("{}: strategy.type parameter_server needs {}; add this job to the cluster", cluster.source, missing));
}

ParameterServerTask::ParameterServerTask(const CheckedConfiguration& checked, const ClusterSpec& cluster,
                                         const rpc::Security& security)
    : checked_(checked), cluster_(cluster), security_(security) {
  require_parameter_server_jobs(cluster);
  const Configuration& values = checked.values();
  const auto servers = static_cast<int>(cluster.ps.size());
  if (cluster.task.job == Job::kPs) {
    server_ = std::make_unique<ParameterServer>(placement_of(checked, servers), cluster.task.index, values.gradients,
                                                security);
  } else if (cluster.is_chief()) {
    dispatch_ = std::make_unique<DispatchService>(
        security, Dispatcher::Options{values.strategy.max_staleness, values.strategy.communication.timeout_seconds});
  }
}

std::vector<grpc::Service*> ParameterServerTask::services() const {
  if (server_) return {&server_->service()};
  if (dispatch_) return {&dispatch_->service()};
  return {};
}

rpc::Timeouts ParameterServerTask::timeouts() const {
  rpc::Timeouts timeouts;
  timeouts.silence_seconds = checked_.values().strategy.communication.timeout_seconds;
  timeouts.may_leave = {Job::kWorker, Job::kEvaluator};
  if (dispatch_) {
    timeouts.on_silence = [this, seconds = timeouts.silence_seconds](const Task& task, const std::string& why) {
      dispatch_->lose(task.text(), why, seconds);
    };
  }
  return timeouts;
}

ParameterServerRole ParameterServerTask::role() const { return {cluster_.ps, security_, dispatch_.get()}; }

void ParameterServerTask::work(const Hardware& hardware, const std::function<std::string()>& failure,
                               const std::function<void(std::int64_t)>& begin_step,
                               const std::function<void(const Run&)>& require_data) const {
  if (server_) return server_->serve(failure);
  compute(hardware, failure, begin_step, require_data);
}

void ParameterServerTask::compute(const Hardware& hardware, const std::function<std::string()>& failure,
                                  const std::function<void(std::int64_t)>& begin_step,
                                  const std::function<void(const Run&)>& require_data) const {
  RunParts parts = parts_of_every_task();
  parts.parameter_servers = role();
  const Run run = build_run(checked_, parts, hardware);
  if (require_data) require_data(run);
  WorkerParts worker{.task = cluster_.task.text(),
                     .strategy = *run.strategy,
                     .model = *checked_.model,
                     .placement = placement_of(checked_, static_cast<int>(cluster_.ps.size())),
                     .sparse = sparse_gradients_of(checked_, one_replica()),
                     .examples = run.examples(),
                     .clip_norm = checked_.values().gradients.clip_norm,
                     .chief = *cluster_.chief,
                     .servers = cluster_.ps,
                     .security = security_,
                     .timeout_seconds = checked_.values().strategy.communication.timeout_seconds};
  if (failure) worker.failure = failure;
  if (begin_step) worker.begin_step = begin_step;
  run_worker(worker);
}

}  // namespace mirrortrain
