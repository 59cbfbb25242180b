#pragma once

#include <optional>
#include <string>

#include "cluster/cluster_spec.h"

namespace mirrortrain {

/// An upper bound on the tasks of any cluster: larger numbers are mistakes.
inline constexpr int kMostTasks = 1 << 16;

/// A cluster source's names for its parts.
struct ClusterKeys {
  std::string chief, workers, ps, evaluator, type, index;
};

/// An error of a cluster as a whole: the source's key, and the remedy.
struct ClusterMistake {
  std::string key, message;
};

/// The first mistake: no chief nor worker; parameter servers without workers; two tasks with one address (tasks without
/// one excepted); and, where `has_task`, a task that the cluster does not have. A chief without workers is a cluster of
/// one, as in TensorFlow.
std::optional<ClusterMistake> mistake_in(const ClusterSpec& cluster, const ClusterKeys& keys, bool has_task = true);

}  // namespace mirrortrain
