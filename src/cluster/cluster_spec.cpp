#include "cluster/cluster_spec.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace mirrortrain {
namespace {

std::vector<Task> chief_and_workers(const ClusterSpec& cluster) {
  std::vector<Task> tasks;
  if (cluster.chief) tasks.push_back({Job::kChief, 0});
  for (int i = 0; i < static_cast<int>(cluster.workers.size()); ++i) tasks.push_back({Job::kWorker, i});
  return tasks;
}

}  // namespace

std::string Task::text() const {
  switch (job) {
    case Job::kChief: return "chief";
    case Job::kWorker: return fmt::format("worker {}", index);
    case Job::kPs: return fmt::format("ps {}", index);
    case Job::kEvaluator: return "evaluator";
  }
  return "";
}

std::vector<Task> ClusterSpec::trainers() const {
  std::vector<Task> tasks = chief_and_workers(*this);
  std::erase_if(tasks, [this](const Task& one) { return std::ranges::count(absent, one) > 0; });
  return tasks;
}

std::vector<Task> ClusterSpec::tasks() const {
  std::vector<Task> tasks = chief_and_workers(*this);
  for (int i = 0; i < static_cast<int>(ps.size()); ++i) tasks.push_back({Job::kPs, i});
  if (evaluator) tasks.push_back({Job::kEvaluator, 0});
  return tasks;
}

Task ClusterSpec::chief_task() const { return chief ? Task{Job::kChief, 0} : Task{Job::kWorker, 0}; }

const std::string& ClusterSpec::address(const Task& of) const {
  const auto index = static_cast<std::size_t>(of.index);
  switch (of.job) {
    case Job::kChief: return chief.value();
    case Job::kWorker: return workers.at(index);
    case Job::kPs: return ps.at(index);
    case Job::kEvaluator: return evaluator.value();
  }
  throw Error("no such task");
}

std::string ClusterSpec::describe(const Task& of) const {
  const std::string& where = address(of);
  return where.empty() ? of.text() : fmt::format("{} ({})", of.text(), where);
}

std::string ClusterSpec::describe_chief() const {
  const Task chief_is = chief_task();
  return describe(chief_is) + (chief_is.job == Job::kChief ? "" : ", the chief,");
}

}  // namespace mirrortrain
