#pragma once

#include <memory>
#include <vector>

#include "collective/communicator.h"

namespace mirrortrain::testing {

/// Ranks of this process that share a memory and sum in rank order: what stands for NCCL, or for a network, in tests.
/// On a CPU's stream a rank's thread does its part before the operation returns, on a stream with a thread of its own
/// the ranks meet on those threads. Owns the communicators, and is destroyed when every stream has been synchronized.
class ThreadGroup {
 public:
  /// `timeout_seconds`: 0 for none.
  explicit ThreadGroup(int size, double timeout_seconds = 20);
  ~ThreadGroup();

  int size() const { return static_cast<int>(communicators_.size()); }
  Communicator& communicator(int rank) const { return *communicators_[static_cast<std::size_t>(rank)]; }
  std::vector<Communicator*> ranks() const;

 private:
  class Rank;
  struct Shared;
  std::unique_ptr<Shared> shared_;
  std::vector<std::unique_ptr<Communicator>> communicators_;
};

}  // namespace mirrortrain::testing
