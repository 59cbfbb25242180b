#pragma once

#include <memory>
#include <span>
#include <vector>

#include "collective/communicator.h"
#include "collective/local/reduction.h"
#include "collective/peer/sum_on_stream.h"
#include "device/device.h"

namespace mirrortrain {

struct PeerGroupOptions {
  bool spin = false;                                ///< every rank's thread has a core of its own (see Barrier)
  double timeout_seconds = 0;                       ///< 0: none
  std::size_t block_bytes = std::size_t{32} << 20;  ///< of each device's memory, for other ranks' terms
};

/// Ranks of this process whose streams copy from each other's memory: a local algorithm's stages, with events between
/// them instead of meetings. float32 is summed, anything is broadcast. The threads that drive the ranks meet while they
/// enqueue, so that what one waits for has been recorded, and so nothing enqueued waits for a rank that does not come.
/// Owns the communicators, and is destroyed when every stream has been synchronized.
class PeerGroup {
 public:
  /// Rank r's elements and streams are of devices[r]. Throws Error where there is no memory for the blocks.
  PeerGroup(const LocalReduction& reduction, std::span<Device* const> devices, SumOnStream sum,
            const PeerGroupOptions& options);
  ~PeerGroup();

  int size() const { return static_cast<int>(communicators_.size()); }
  Communicator& communicator(int rank) const { return *communicators_[static_cast<std::size_t>(rank)]; }
  std::vector<Communicator*> ranks() const { return pointers_to(communicators_); }

 private:
  class Rank;
  struct Shared;
  std::unique_ptr<Shared> shared_;
  std::vector<std::unique_ptr<Communicator>> communicators_;
};

}  // namespace mirrortrain
