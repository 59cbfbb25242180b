#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "collective/communicator.h"
#include "device/cuda/shared_library.h"

namespace mirrortrain {

/// Why NCCL cannot be used by this executable here, or nothing. Opens the library, but asks for no GPU.
std::string why_no_nccl();

/// Opens NCCL, as a run on several GPUs does.
cuda::LibraryState find_nccl();

/// What one process makes and every process of a group needs.
std::string make_nccl_id();

/// A group whose ranks are in several processes.
struct NcclWorld {
  int first = 0;   ///< rank of this process's first GPU
  int ranks = 0;   ///< of all processes; 0: this one's alone
  std::string id;  ///< of make_nccl_id, the same in all of them
  /// Why another process has failed; empty while none has. Asked while the ranks wait for each other.
  std::function<std::string()> failure = {};
};

/// One rank per GPU of this process, rank r (or `world.first` + r) on cuda:gpus[r]; its operations take streams of that
/// GPU's device. Each is used, and destroyed, by one thread at a time; where the group was aborted, a rank's thread
/// makes its own operations end when it next calls anything. An operation that has started and does not end within
/// `timeout_seconds` (0: no limit) is an error that names the rank. The GPUs are distinct. Throws Error where there is
/// no NCCL 2.19 or newer or a call fails, naming the call; with a `world`, also where not every rank comes within
/// `timeout_seconds` or another process fails: a thread that waits for it within NCCL is left behind. No GPU memory is
/// to be allocated or freed while an operation waits for a rank: the allocation may wait for the GPU that the operation
/// runs on.
std::vector<std::unique_ptr<Communicator>> make_nccl_communicators(std::span<const int> gpus, double timeout_seconds,
                                                                   const NcclWorld& world = {});

}  // namespace mirrortrain
