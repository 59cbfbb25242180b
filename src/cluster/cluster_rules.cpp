#include "cluster/cluster_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/utf8.h"

namespace mirrortrain {
namespace {

const std::string& key_of(Job job, const ClusterKeys& keys) {
  switch (job) {
    case Job::kChief: return keys.chief;
    case Job::kWorker: return keys.workers;
    case Job::kPs: return keys.ps;
    case Job::kEvaluator: return keys.evaluator;
  }
  return keys.workers;
}

std::optional<ClusterMistake> missing_trainers(const ClusterSpec& cluster, const ClusterKeys& keys) {
  if (!cluster.workers.empty()) return std::nullopt;
  if (!cluster.chief) return ClusterMistake{keys.workers, "expected the workers' addresses, found none"};
  if (cluster.ps.empty()) return std::nullopt;
  return ClusterMistake{keys.workers,
                        "expected the workers' addresses, found none; parameter servers serve workers, and the chief "
                        "beside them is none"};
}

std::optional<ClusterMistake> shared_address(const ClusterSpec& cluster, const ClusterKeys& keys) {
  std::map<std::string, Task> owners;
  for (const Task& task : cluster.tasks()) {
    const std::string address = in_lower_case(cluster.address(task));
    if (address.empty()) continue;
    const auto [owner, is_new] = owners.emplace(address, task);
    if (is_new) continue;
    return ClusterMistake{key_of(task.job, keys),
                          fmt::format("{} and {} both have the address {}; give each task a port of its own",
                                      owner->second.text(), task.text(), cluster.address(task))};
  }
  return std::nullopt;
}

int count_of(Job job, const ClusterSpec& cluster) {
  const auto tasks = cluster.tasks();
  return static_cast<int>(std::ranges::count(tasks, job, &Task::job));
}

std::optional<ClusterMistake> unknown_task(const ClusterSpec& cluster, const ClusterKeys& keys) {
  const Task& task = cluster.task;
  const std::string& job = key_of(task.job, keys);
  const int count = count_of(task.job, cluster);
  if (count == 0) {
    std::vector<std::string> jobs;
    for (const Job other : {Job::kChief, Job::kWorker, Job::kPs, Job::kEvaluator}) {
      if (count_of(other, cluster) > 0) jobs.push_back(key_of(other, keys));
    }
    return ClusterMistake{keys.type, fmt::format("this process is {}, but the cluster has no {}, only {}; correct the "
                                                 "task, or list its address",
                                                 task.text(), job, fmt::join(jobs, ", "))};
  }
  if (task.index >= 0 && task.index < count) return std::nullopt;
  return ClusterMistake{
      keys.index, fmt::format("expected an index from 0 to {}, found {}: the cluster has {} task{} under {}", count - 1,
                              task.index, count, count == 1 ? "" : "s", job)};
}

}  // namespace

std::optional<ClusterMistake> mistake_in(const ClusterSpec& cluster, const ClusterKeys& keys, bool has_task) {
  if (auto mistake = missing_trainers(cluster, keys)) return mistake;
  if (auto mistake = shared_address(cluster, keys)) return mistake;
  return has_task ? unknown_task(cluster, keys) : std::nullopt;
}

}  // namespace mirrortrain
