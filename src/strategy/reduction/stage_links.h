#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collective/communicator.h"
#include "device/cpu/background_stream.h"
#include "strategy/topology.h"

namespace mirrortrain {

/// Workers with neighbouring stages of a replica, `lower` and the next one, of which one sends to the other what a
/// place of the replica computes.
struct StagePair {
  int lower = 0;
  int model = 0;       ///< the place's index on the axis `model`
  bool is_up = false;  ///< whether the lower one sends
};

/// This worker's ranks in the pairs of a place that it belongs to, the lower worker's being 0; null where there is no
/// such worker.
struct PlaceCommunicators {
  Communicator *from_before = nullptr, *to_before = nullptr, *from_after = nullptr, *to_after = nullptr;
};

/// Of all places of a replica, by index on the axis `model`; none where each worker has all stages of its replicas.
struct StageCommunicators {
  std::shared_ptr<void> owner;
  std::vector<PlaceCommunicators> of_places;

  void abort(const std::string& reason) const;
};

/// Calls `make` for all pairs of the run, in the order that is the same everywhere. It returns a rank that is kept as
/// long as the owner: this worker's where it belongs to the pair, else any or none.
StageCommunicators stage_communicators(const Topology& topology,
                                       const std::function<std::shared_ptr<Communicator>(const StagePair&)>& make);

/// A place's links to the workers that have the stages of its replica before and after this one's. Values go `up` in
/// forward passes and `down` in backward passes. For each link and direction, one lane at a time, and both sides send
/// and receive the same values in the same order.
class StageLinks {
 public:
  explicit StageLinks(const PlaceCommunicators& communicators);

  bool has(bool before) const { return (before ? of_.from_before : of_.from_after) != nullptr; }
  /// Sends to the worker before or after this one, while the lane continues: the elements must stay in place until they
  /// are received.
  void send(bool before, const Elements& elements);
  /// Waits for elements from the worker before or after this one.
  void receive(bool before, const Elements& elements);
  /// Waits until everything that was sent is received. Throws Error if anything failed.
  void finish(bool before);

 private:
  const PlaceCommunicators of_;
  std::optional<BackgroundStream> to_before_, to_after_;
};

}  // namespace mirrortrain
