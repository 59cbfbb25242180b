#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/feeding/feeder.h"
#include "rpc/security.h"
#include "strategy/parameter_server/placement.h"
#include "strategy/reduction/deferred_gradients.h"
#include "strategy/strategy.h"

namespace mirrortrain {

/// Arguments of a worker. Everything referred to must outlive it.
struct WorkerParts {
  std::string task;  ///< "worker 1"
  /// Computes the steps: with all variables, no optimizer, and accumulated gradients. Must be prepared.
  Strategy& strategy;
  const Model& model;
  Placement placement;
  std::vector<SparseGradient> sparse{};       ///< tables whose rows are exchanged
  std::vector<const data::Feeder*> examples;  ///< as the chief's BatchSizes::examples
  std::optional<double> clip_norm;
  std::string chief;                 ///< its address
  std::vector<std::string> servers;  ///< their addresses
  rpc::Security security;
  double timeout_seconds = 60;  ///< for an RPC to a server; 0: no limit
  /// Polled, on any thread: the reason why the run has failed elsewhere; empty while it has not.
  std::function<std::string()> failure = [] { return std::string(); };
  /// Called with the number of each training step before it is computed.
  std::function<void(std::int64_t)> begin_step = [](std::int64_t) {};
};

/// Serves the chief until it reports that the run is done: pulls variables, computes a step and pushes its gradients,
/// each on its own thread, so that computing a step overlaps with pulling the variables of the next and pushing the
/// gradients of the last. Throws Error if the run has failed, the chief is gone, or this worker fails, of which it
/// notifies the chief.
void run_worker(const WorkerParts& parts);

}  // namespace mirrortrain
