#pragma once

#include <array>
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

/// Workers with neighbouring stages of a replica, `lower` and the next one, of which one sends to the other.
struct StagePair {
  int lower = 0;
  bool is_up = false;  ///< whether the lower one sends
};

/// This worker's ranks in the pairs that it belongs to, the lower worker's being 0; null where there is no such worker.
struct StageCommunicators {
  std::shared_ptr<void> owner;
  Communicator *from_before = nullptr, *to_before = nullptr, *from_after = nullptr, *to_after = nullptr;

  std::array<Communicator*, 4> all() const { return {from_before, to_before, from_after, to_after}; }
};

/// Calls `make` for all pairs of the run, in the order that is the same everywhere. It returns a rank that is kept as
/// long as the owner: this worker's where it belongs to the pair, else any or none.
StageCommunicators stage_communicators(const Topology& topology,
                                       const std::function<std::shared_ptr<Communicator>(const StagePair&)>& make);

/// A worker's links to those that have the stages of its replica before and after its own. Values go `up` in forward
/// passes and `down` in backward passes. For each link and direction, one lane at a time, and both sides send and
/// receive the same values in the same order.
class StageLinks {
 public:
  explicit StageLinks(const StageCommunicators& communicators);

  bool has(bool before) const { return (before ? of_.from_before : of_.from_after) != nullptr; }
  /// Sends to the worker before or after this one, while the lane continues: the elements must stay in place until they
  /// are received.
  void send(bool before, const Elements& elements);
  /// Waits for elements from the worker before or after this one.
  void receive(bool before, const Elements& elements);
  /// Waits until everything that was sent is received. Throws Error if anything failed.
  void finish(bool before);
  void abort(const std::string& reason) const;

 private:
  const StageCommunicators of_;
  std::optional<BackgroundStream> to_before_, to_after_;
};

}  // namespace mirrortrain
