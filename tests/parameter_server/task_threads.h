#pragma once

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "error_text.h"
#include "temporary_folder.h"
#include "train/session/check_configuration.h"
#include "train/session/parameter_server_task.h"

namespace mirrortrain::testing {

using Overrides = std::vector<std::string>;

/// A server of gRPC on a port of loopback that the system chooses.
class LoopbackServer {
 public:
  LoopbackServer(const std::vector<grpc::Service*>& services, const rpc::Security& security) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", security.server(), &port);
    builder.SetMaxReceiveMessageSize(rpc::kLargestMessage);
    for (grpc::Service* service : services) builder.RegisterService(service);
    server_ = builder.BuildAndStart();
    address_ = fmt::format("127.0.0.1:{}", port);
  }
  ~LoopbackServer() { stop(); }
  void stop() const { server_->Shutdown(std::chrono::system_clock::now()); }
  const std::string& address() const { return address_; }

 private:
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

/// A task of a run with parameter servers.
struct TaskThread {
  TaskThread(const std::string& file, const Overrides& overrides, ClusterSpec cluster_)
      : cluster(std::move(cluster_)),
        checked(check_configuration(file, overrides)),
        security(rpc::Security::from(checked.values().strategy.cluster)),
        task(checked, cluster, security) {
    if (!task.services().empty()) server.emplace(task.services(), security);
  }

  /// As if the process had ended.
  void kill() {
    if (server) server->stop();
    is_killed = true;
  }

  ClusterSpec cluster;
  CheckedConfiguration checked;
  rpc::Security security;
  ParameterServerTask task;
  std::optional<LoopbackServer> server;
  std::atomic<bool> is_killed = false;
  std::future<std::string> ended;  ///< with its error
};

/// A run with parameter servers in this process: the calling thread is the chief.
class TaskThreads {
 public:
  TaskThreads(const std::string& configuration, Overrides overrides, int servers, int workers) {
    overrides.push_back("strategy.type=parameter_server");
    overrides_ = overrides;
    std::ofstream(file()) << configuration;
    cluster_.source = "a test";
    cluster_.chief = "127.0.0.1:1";
    cluster_.ps.assign(static_cast<std::size_t>(servers), "127.0.0.1:1");
    cluster_.workers.assign(static_cast<std::size_t>(std::max(1, workers)), "");
    for (int i = 0; i < servers; ++i) {
      start({Job::kPs, i});
      cluster_.ps[static_cast<std::size_t>(i)] = tasks_.back()->server->address();
    }
    chief_ = std::make_unique<TaskThread>(file(), overrides_, as({Job::kChief, 0}));
    cluster_.chief = chief_->server->address();
    run_ = build_run(chief_->checked, {.evaluates = {data::Split::kValidation, data::Split::kTest},
                                       .parameter_servers = chief_->task.role()});
    for (int i = 0; i < workers; ++i) start({Job::kWorker, i});
    set_first_values(chief_->checked, *run_.strategy);
    steps_.emplace(run_, chief_->checked.values());
    chief_->task.role().dispatch->dispatcher().wait_for_workers(static_cast<std::size_t>(workers));
  }

  /// Of the tasks that have one, at the end: ends the run as its chief does.
  std::vector<std::string> end(const std::string& failure = "") {
    if (!failure.empty()) run_.strategy->abort(failure);
    run_.strategy.reset();
    std::vector<std::string> errors;
    for (const auto& task : tasks_) errors.push_back(task->ended.get());
    return errors;
  }
  ~TaskThreads() {
    if (run_.strategy) run_.strategy->abort("the test ends");
    run_.strategy.reset();
    for (const auto& task : tasks_) task->kill();
  }

  void start(Task task) {
    TaskThread& own = *tasks_.emplace_back(std::make_unique<TaskThread>(file(), overrides_, as(task)));
    own.ended = std::async(std::launch::async, [&own] {
      const auto killed = [&own] { return std::string(own.is_killed ? "killed" : ""); };
      return error_text([&] { own.task.work(this_hardware(), killed); });
    });
  }

  std::vector<double> steps(int count) {
    for (int i = 0; i < count; ++i) steps_->train(state);
    std::vector<double> losses;
    for (const StepSums& sums : strategy().take_sums()) {
      losses.push_back(sums.loss / static_cast<double>(sums.examples));
    }
    return losses;
  }
  /// Resumes from a checkpoint's state.
  void seek(const TrainingState& to) {
    state = to;
    steps_->seek(to);
  }

  std::map<std::string, std::vector<float>> variables() {
    std::map<std::string, std::vector<float>> values;
    strategy().read_variables(Lasting::kValues, [&](const LastingVariable& variable) {
      const auto elements = variable.value.copy(0).span<float>();
      values[variable.value.name()] = {elements.begin(), elements.end()};
    });
    return values;
  }

  Strategy& strategy() { return *run_.strategy; }
  const Model& model() const { return *chief_->checked.model; }
  const Run& run() const { return run_; }
  TaskThread& chief() { return *chief_; }
  /// Servers first, then workers.
  TaskThread& task(int index) { return *tasks_[static_cast<std::size_t>(index)]; }
  const ClusterSpec& cluster() const { return cluster_; }
  TrainingState state;

 private:
  std::string file() const { return (folder_.path() / "test.yaml").string(); }
  ClusterSpec as(Task task) const {
    ClusterSpec cluster = cluster_;
    cluster.task = task;
    return cluster;
  }

  TemporaryFolder folder_;
  Overrides overrides_;
  ClusterSpec cluster_;
  std::unique_ptr<TaskThread> chief_;
  std::vector<std::unique_ptr<TaskThread>> tasks_;
  Run run_;
  std::optional<TrainingSteps> steps_;
};

/// Every gradient is clipped to -1, so that each step adds the learning rate, in any order.
inline constexpr const char* kCounter = R"(
data:
  global_batch_size: 4
  train: {format: inline, features: [[1], [1], [1], [1]], labels: [[1e6], [1e6], [1e6], [1e6]]}
model: {input_shape: [1], layers: [{dense: {units: 1, kernel_initializer: zeros}}]}
loss: {type: mean_squared_error}
gradients: {clip_value: 1}
optimizer: {type: sgd, learning_rate: 0.25}
)";

/// Checks that so many steps were applied to each variable of kCounter, once each.
inline void check_count(TaskThreads& tasks, int steps) {
  for (const auto& [name, values] : tasks.variables()) {
    CAPTURE(name);
    CHECK(values == std::vector<float>{0.25f * static_cast<float>(steps)});
  }
}

}  // namespace mirrortrain::testing
