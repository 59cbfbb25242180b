#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collective/communicator.h"
#include "device/device.h"
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

  template <class Body>
  void for_each(const Body& body) const {
    for (Communicator* const rank : {from_before, to_before, from_after, to_after}) {
      if (rank != nullptr) body(*rank);
    }
  }
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
/// and receive the same values in the same order. All waiting is a stream's: a GPU's lane only enqueues, and a CPU's,
/// which is its stream, waits itself.
class StageLinks {
 public:
  /// `device`: of the lanes; `on_host`: it is a CPU.
  StageLinks(const PlaceCommunicators& communicators, Device& device, bool on_host);

  bool has(bool before) const { return (before ? of_.from_before : of_.from_after) != nullptr; }
  /// Sends to the worker before or after this one what the lane's stream has computed so far, while it continues: the
  /// elements must stay in place until they are received.
  void send(Stream& lane, bool before, const Elements& elements);
  /// The lane's stream waits for elements from the worker before or after this one.
  void receive(Stream& lane, bool before, const Elements& elements);
  /// The lane's stream waits until everything that was sent is received. Throws Error if anything has failed.
  void finish(Stream& lane, bool before);
  /// The same for a token where a stage gives no values: that there is a microbatch, or that its memory is free.
  void send_token(Stream& lane, bool before) { send(lane, before, token(0)); }
  void receive_token(Stream& lane, bool before) { receive(lane, before, token(1)); }
  /// The first of each, which establish connections, with the other workers of the row.
  void connect(Stream& lane);
  /// Throws Error if anything has failed, or waits longer than its timeout.
  void check() const;
  void abort(const std::string& reason) const;

 private:
  /// What sends while the lane's stream continues.
  struct Sender {
    Communicator* to = nullptr;
    std::unique_ptr<Event> computed, received;
    std::unique_ptr<Stream> stream;  ///< last, so that its work ends first
  };
  Sender& sender(bool before) { return before ? to_before_ : to_after_; }

  Elements token(std::size_t number) const;

  const PlaceCommunicators of_;
  Buffer tokens_;  ///< sent, and received
  Sender to_before_, to_after_;
};

}  // namespace mirrortrain
