#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"
#include "cluster/address.h"
#include "cluster/cluster_options.h"
#include "cluster/cluster_rules.h"
#include "cluster/sources/sources.h"

namespace mirrortrain {
namespace {

using Json = nlohmann::json;

/// The JSON of a variable. Throws UsageError, beginning with its name, if it is invalid or an object has a duplicate
/// key, one of which a lenient parser would drop.
Json strict_json(const std::string& text, const std::string& variable) {
  const auto refuse_twice = [&](const std::string& key) {
    throw UsageError(fmt::format("{}: the key '{}' is listed twice in one mapping; write it once", variable, key));
  };
  try {
    return parse_json<Json>(text, {.key_twice = refuse_twice});
  } catch (const Json::parse_error& error) {
    const std::size_t at = std::min(error.byte == 0 ? 0 : error.byte - 1, text.size());
    throw UsageError(fmt::format(
        "{}: expected JSON, found {} at character {} of \"{}{}\"; in a shell, put the value in single quotes, as in "
        "{}='{{\"cluster\": ...}}'",
        variable, at == text.size() ? "its end" : fmt::format("'{}'", text.substr(at, 1)), at + 1, text.substr(0, 200),
        text.size() > 200 ? "..." : "", variable));
  } catch (const Json::exception& error) {  // for example a number out of range
    throw UsageError(fmt::format("{}: expected JSON that can be read: {}", variable, error.what()));
  }
}

const ClusterKeys kJsonKeys = {"cluster.chief",     "cluster.worker", "cluster.ps",
                               "cluster.evaluator", "task.type",      "task.index"};

[[noreturn]] void wrong(const std::string& place, const std::string& message) {
  throw UsageError(fmt::format("TF_CONFIG: {}{}{}", place, place.empty() ? "" : ": ", message));
}

/// A value for messages.
std::string shown(const Json& value) {
  const std::string text = json_text(value);
  return text.size() <= 100 ? text : text.substr(0, 100) + "...";
}

/// A text with a whole number, as Python's int() accepts it.
std::optional<int> index_in(const std::string& text) {
  int index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && index >= 0 ? std::optional(index) : std::nullopt;
}

std::string address_in(const Json& value, const std::string& place) {
  if (!value.is_string()) wrong(place, fmt::format("expected host:port, found {}; write it as a string", shown(value)));
  const auto address = value.get<std::string>();
  if (const std::string error = address_error(address); !error.empty()) wrong(place, error);
  return address;
}

/// {"0": "host:port", "1": ...}, which TensorFlow accepts as an alternative to a list.
std::vector<std::string> addresses_by_index(const Json& tasks, const std::string& place) {
  std::vector<std::string> addresses(tasks.size());
  for (const auto& [key, value] : tasks.items()) {
    const std::optional<int> index = index_in(key);
    if (!index || *index >= static_cast<int>(addresses.size()) ||
        !addresses[static_cast<std::size_t>(*index)].empty()) {
      wrong(place, fmt::format("expected the indices 0 to {}, found \"{}\"; every task's address must be given",
                               addresses.size() - 1, shortened(key)));
    }
    addresses[static_cast<std::size_t>(*index)] = address_in(value, fmt::format("{}[{}]", place, key));
  }
  return addresses;
}

std::vector<std::string> addresses_in(const Json& tasks, const std::string& place) {
  if (tasks.is_structured() && tasks.size() > kMostTasks) {
    wrong(place, fmt::format("expected at most {} tasks", kMostTasks));
  }
  if (tasks.is_object()) return addresses_by_index(tasks, place);
  if (!tasks.is_array()) wrong(place, fmt::format("expected a list of host:port, found {}", shown(tasks)));
  std::vector<std::string> addresses;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    addresses.push_back(address_in(tasks[i], fmt::format("{}[{}]", place, i)));
  }
  return addresses;
}

std::optional<std::string> only_address(const std::vector<std::string>& addresses, const std::string& place) {
  if (addresses.size() > 1) wrong(place, fmt::format("expected at most one, found {}", addresses.size()));
  return addresses.empty() ? std::nullopt : std::optional(addresses.front());
}

/// The job of that name. Throws UsageError if there is none.
Job job_named(const std::string& name, const std::string& place) {
  if (const auto job = config::value_named<Job>(name)) return *job;
  if (name == "master") wrong(place, "`master` was TensorFlow 1's name of the chief; write `chief`");
  const std::string known = "expected chief, worker, ps or evaluator";
  wrong(place, fmt::format("{}, found {}{}", known, shown(name),
                           config::suggestion(name, {"chief", "worker", "ps", "evaluator"})));
}

void read_cluster(const Json& jobs, ClusterSpec& cluster) {
  if (!jobs.is_object()) {
    wrong("cluster", fmt::format("expected a mapping from jobs to addresses, such as {{\"worker\": [\"host:port\"]}}, "
                                 "found {}",
                                 shown(jobs)));
  }
  for (const auto& [name, tasks] : jobs.items()) {
    const Job job = job_named(name, "cluster");
    const std::string place = "cluster." + name;
    std::vector<std::string> addresses = addresses_in(tasks, place);
    switch (job) {
      case Job::kChief: cluster.chief = only_address(addresses, place); break;
      case Job::kWorker: cluster.workers = std::move(addresses); break;
      case Job::kPs: cluster.ps = std::move(addresses); break;
      case Job::kEvaluator: cluster.evaluator = only_address(addresses, place); break;
    }
  }
}

int read_index(const Json& value) {
  if (value.is_string()) {
    if (const auto index = index_in(value.get<std::string>())) return *index;
  } else if (value.is_number()) {
    const double number = value.get<double>();
    if (number >= 0 && number < kMostTasks && number == std::floor(number)) return static_cast<int>(number);
  }
  wrong("task.index", fmt::format("expected a whole number from 0, found {}", shown(value)));
}

Task read_task(const Json& config) {
  const std::string example = "{\"type\": \"worker\", \"index\": 0}";
  if (!config.contains("task")) wrong("", "missing key 'task', which process of the cluster this is, as in " + example);
  const Json& task = config["task"];
  if (!task.is_object()) wrong("task", fmt::format("expected a mapping such as {}, found {}", example, shown(task)));
  for (const char* key : {"type", "index"}) {
    if (!task.contains(key)) wrong("task", fmt::format("missing key '{}', as in {}", key, example));
  }
  const Json& type = task["type"];
  if (!type.is_string()) wrong("task.type", fmt::format("expected the name of a job, found {}", shown(type)));
  return {job_named(type.get<std::string>(), "task.type"), read_index(task["index"])};
}

}  // namespace

std::optional<ClusterSpec> cluster_of_tf_config(const Environment& environment) {
  const std::optional<std::string> text = environment("TF_CONFIG");
  if (!text || text->empty()) return std::nullopt;
  const Json config = strict_json(*text, "TF_CONFIG");
  if (!config.is_object()) wrong("", fmt::format("expected a mapping, found {}", shown(config)));
  const auto jobs = config.find("cluster");
  if (jobs == config.end() || (jobs->is_object() && jobs->empty())) return std::nullopt;

  ClusterSpec cluster;
  cluster.source = "TF_CONFIG";
  read_cluster(*jobs, cluster);
  cluster.task = read_task(config);
  if (cluster.task.job == Job::kEvaluator && !cluster.evaluator) cluster.evaluator = "";  // not part of the cluster
  if (const auto mistake = mistake_in(cluster, kJsonKeys)) wrong(mistake->key, mistake->message);
  return cluster;
}

}  // namespace mirrortrain
