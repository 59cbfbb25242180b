#pragma once

#include <memory>
#include <vector>

#include "collective/communicator.h"
#include "collective/local/reduction.h"

namespace mirrortrain {

struct LocalGroupOptions {
  LocalAlgorithm algorithm = LocalAlgorithm::kOnePass;
  AggregationMethod method = AggregationMethod::kAddN;
  bool spin = false;           ///< every rank has a core of its own (see Barrier)
  double timeout_seconds = 0;  ///< 0: none
};

/// Ranks of this process that share a memory and compute on the host: on a CPU's stream a rank's thread does its part
/// before the operation returns, on a stream with a thread of its own the ranks meet on those threads. Owns the
/// communicators, and is destroyed when every stream has been synchronized. Elements outside the host's memory are not
/// for it.
class LocalGroup {
 public:
  LocalGroup(int size, const LocalGroupOptions& options);
  ~LocalGroup();

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
