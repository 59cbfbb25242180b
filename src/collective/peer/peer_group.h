#pragma once

#include <memory>
#include <span>
#include <vector>

#include "collective/communicator.h"
#include "collective/staged_reduction.h"
#include "device/device.h"
#include "kernels/step_kernels.h"

namespace mirrortrain {

struct PeerGroupOptions {
  bool spin = false;                                ///< every rank's thread has its own core (see Barrier)
  double timeout_seconds = 0;                       ///< 0: none
  std::size_t block_bytes = std::size_t{32} << 20;  ///< of each device's memory, for other ranks' terms
};

/// Ranks of this process whose streams copy from each other's memory: a staged reduction, with events instead of
/// barriers between its stages. Sums are of float32. The threads that drive the ranks synchronize while they enqueue,
/// so that awaited events have been recorded, and no enqueued work waits for a failed rank. Owns the communicators, and
/// may be destroyed once every stream has been synchronized.
class PeerGroup {
 public:
  /// Rank r's elements and streams are of devices[r]; `kernels` add there. Throws Error if there is no memory for the
  /// blocks.
  PeerGroup(const StagedReduction& reduction, std::span<Device* const> devices, const StepKernels& kernels,
            const PeerGroupOptions& options);
  ~PeerGroup();

  std::vector<Communicator*> ranks() const;

 private:
  class Rank;
  struct Shared;
  std::unique_ptr<Shared> shared_;
  std::vector<std::unique_ptr<Communicator>> communicators_;
};

}  // namespace mirrortrain
