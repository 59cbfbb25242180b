#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "collective/communicator.h"
#include "device/cuda/shared_library.h"

namespace mirrortrain {

/// Why this executable cannot use NCCL here; empty if it can. Opens the library, but uses no GPU.
std::string why_no_nccl();

/// Opens NCCL, as a run on several GPUs does.
cuda::LibraryState find_nccl();

/// The unique id that one process creates and every process of a group needs.
std::string make_nccl_id();

/// A group whose ranks are in several processes.
struct NcclWorld {
  int first = 0;   ///< rank of this process's first GPU
  int ranks = 0;   ///< of all processes; 0: only this one's
  std::string id;  ///< of make_nccl_id, the same in all of them
  /// Why another process has failed; empty if none has. Polled while the ranks wait for each other.
  std::function<std::string()> failure = {};
};

/// One rank per GPU of this process, rank r (or `world.first` + r) on cuda:gpus[r]; its operations use streams of that
/// GPU's device. Each is used, and destroyed, by one thread at a time; after the group is aborted, each rank's
/// operations end at its thread's next call. An operation that has started and does not end within `timeout_seconds`
/// (0: no limit) is an error that names the rank. The GPUs are distinct. Throws Error if there is no NCCL 2.19 or newer
/// or a call fails, naming the call; with a `world`, also if not every rank joins within `timeout_seconds` or another
/// process fails: a thread that waits for it within NCCL is left running. GPU memory must not be allocated or freed
/// while an operation waits for a rank: the allocation may wait for the GPU that the operation runs on.
std::vector<std::unique_ptr<Communicator>> make_nccl_communicators(std::span<const int> gpus, double timeout_seconds,
                                                                   const NcclWorld& world = {});

}  // namespace mirrortrain
