#include "launch/launch_plan.h"

#include <fmt/format.h>

#include <map>

#include "base/error.h"
#include "base/json.h"
#include "cluster/address.h"
#include "cluster/cluster_options.h"
#include "cluster/discover.h"
#include "launch/cores.h"
#include "launch/shell.h"

namespace mirrortrain::launch {
namespace {

int worker_count(const LaunchOptions& options) {
  return options.workers > 0 ? options.workers : static_cast<int>(options.hosts.size());
}

/// The host of task `index` of `count` tasks of a job.
const std::string& host_of(const std::vector<std::string>& hosts, int index, int count) {
  const int host_count = static_cast<int>(hosts.size());
  for (int host = 0; host < host_count; ++host) {
    const Share share = share_of(static_cast<std::size_t>(count), host, host_count);
    if (static_cast<std::size_t>(index) < share.first + share.count) return hosts[static_cast<std::size_t>(host)];
  }
  return hosts.back();
}

/// The name of an ssh host for other machines.
std::string name_of(const std::string& host) { return host.substr(host.find('@') + 1); }  // npos + 1 is 0

/// Numbers the workers of each host.
void number_workers(std::vector<PlacedTask>& tasks) {
  std::map<std::string, int> workers;
  for (PlacedTask& one : tasks) {
    if (one.task.job == Job::kWorker) one.local_rank = workers[name_of(one.host)]++;
  }
  for (PlacedTask& one : tasks) {
    if (one.task.job == Job::kWorker) one.local_size = workers[name_of(one.host)];
  }
}

/// The variables of a worker that divides its host's GPUs with others.
std::vector<Variable> variables_of(const PlacedTask& task) {
  if (task.local_size < 2) return {};
  return {{kLocalRankVariable, std::to_string(task.local_rank)}, {kLocalSizeVariable, std::to_string(task.local_size)}};
}

std::string address_of(const std::string& name, int port) {
  if (port > 65535)
    throw UsageError(fmt::format("--port: {}'s last task would have port {}; give a lower one", name, port));
  return Address{name, port}.text();
}

}  // namespace

int count_tasks(const LaunchOptions& options) {
  const int workers = worker_count(options);
  if (workers == 0) throw UsageError("launch: give --workers N, or --hosts for one worker on each");
  return workers + (options.ps > 0 ? options.ps + 1 : 0) + (options.evaluator ? 1 : 0);
}

Plan make_plan(const LaunchOptions& options, std::span<const int> local_ports, std::span<const int> cores) {
  Plan plan;
  ClusterSpec& cluster = plan.cluster;
  cluster.source = "launch";
  cluster.workers.resize(static_cast<std::size_t>(worker_count(options)));
  cluster.ps.resize(static_cast<std::size_t>(options.ps));
  if (options.ps > 0) cluster.chief = "";
  if (options.evaluator) cluster.evaluator = "";

  std::map<std::string, int> tasks_on_host;
  for (const Task& task : cluster.tasks()) {
    PlacedTask placed{task, "", {}};
    std::string address;
    if (options.hosts.empty()) {
      address = fmt::format("127.0.0.1:{}", local_ports[plan.tasks.size()]);
      // Parameter servers, and the chief of a cluster with them, wait most of the time.
      if (options.pin && task.job == Job::kWorker && cores.size() >= cluster.workers.size()) {
        // The same number for each worker, because workers have equally many replicas.
        const std::size_t each = cores.size() / cluster.workers.size();
        const auto part = cores.subspan(static_cast<std::size_t>(task.index) * each, each);
        placed.cores.assign(part.begin(), part.end());
      }
    } else {
      const int count = task.job == Job::kWorker ? static_cast<int>(cluster.workers.size())
                        : task.job == Job::kPs   ? options.ps
                                                 : 1;
      placed.host = host_of(options.hosts, task.index, count);
      const std::string name = name_of(placed.host);
      address = address_of(name, options.port + tasks_on_host[name]++);
    }
    const auto index = static_cast<std::size_t>(task.index);
    switch (task.job) {
      case Job::kChief: cluster.chief = address; break;
      case Job::kWorker: cluster.workers[index] = address; break;
      case Job::kPs: cluster.ps[index] = address; break;
      case Job::kEvaluator: cluster.evaluator = address; break;
    }
    plan.tasks.push_back(std::move(placed));
  }
  if (options.pin) number_workers(plan.tasks);
  return plan;
}

std::string tf_config(const ClusterSpec& cluster, const Task& task) {
  nlohmann::ordered_json json;
  for (const Task& one : cluster.tasks()) json["cluster"][config::name_of(one.job)].push_back(cluster.address(one));
  json["task"] = {{"type", config::name_of(task.job)}, {"index", task.index}};
  return json_text(json);
}

ProcessOptions process_of(const Plan& plan, const PlacedTask& task, const LaunchOptions& options,
                          const std::string& executable, std::span<const std::string> arguments) {
  std::vector<std::string> argv = {executable};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  const std::string tasks = tf_config(plan.cluster, task.task);
  const std::vector<Variable> variables = variables_of(task);
  if (task.host.empty()) return {argv, tasks, plan.token, task.cores, variables, SignalPath::kKill};
  std::vector<std::string> assignments = {"TF_CONFIG=" + tasks};
  for (const Variable& one : variables) assignments.push_back(fmt::format("{}={}", one.name, one.value));
  return {remote_argv({options.ssh, task.host, options.directory, assignments, argv}),
          std::nullopt,
          plan.token,
          {},
          {},
          SignalPath::kStdin};
}

std::string printed(const Plan& plan, const PlacedTask& task, const LaunchOptions& options,
                    std::span<const std::string> arguments) {
  const bool is_here = task.host.empty();
  std::string variables;
  for (const Variable& one : variables_of(task)) variables += fmt::format("{}={} ", one.name, one.value);
  return fmt::format("# {}{}\n{}{}TF_CONFIG={} {} {}\n", task.task.text(), is_here ? "" : " on " + task.host,
                     is_here ? "" : fmt::format("cd {} && ", quoted(options.directory)), variables,
                     quoted(tf_config(plan.cluster, task.task)), quoted(options.executable), quoted(arguments));
}

}  // namespace mirrortrain::launch
