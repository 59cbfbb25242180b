#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/feeding/feeder.h"
#include "rpc/security.h"
#include "strategy/parameter_server/placement.h"
#include "strategy/strategy.h"

namespace mirrortrain {

/// What a worker is made from. Everything referred to outlives it.
struct WorkerParts {
  std::string task;  ///< "worker 1"
  /// Computes the steps: with all variables, no optimizer, and gradients that are accumulated. It is prepared.
  Strategy& strategy;
  Placement placement;
  std::vector<const data::Feeder*> examples;  ///< as the chief's BatchSizes::examples
  std::optional<double> clip_norm;
  std::string chief;                 ///< its address
  std::vector<std::string> servers;  ///< their addresses
  rpc::Security security;
  double timeout_seconds = 60;  ///< of a call to a server; 0: no limit
  /// Asked now and then, on any thread: why the run has failed elsewhere; empty while it has not.
  std::function<std::string()> failure = [] { return std::string(); };
  /// Told of each training step that is about to be computed.
  std::function<void(std::int64_t)> begin_step = [](std::int64_t) {};
};

/// Does the chief's work until it says that the run is done: pulls variables, computes a step and pushes its gradients,
/// each on a thread of its own, so that a step is computed while the variables of the next come and the gradients of
/// the last one go. Throws Error where the run has failed, the chief is gone, or this worker fails, of which it
/// notifies the chief.
void run_worker(const WorkerParts& parts);

}  // namespace mirrortrain
