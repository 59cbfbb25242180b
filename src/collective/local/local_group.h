#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "collective/communicator.h"

namespace mirrortrain {

/// How ranks with one memory sum.
enum class LocalAlgorithm {
  kOnePass,               ///< every rank sums its shard straight from, and back into, everybody's memory, in rank order
  kRing,                  ///< reduce-scatter, then all-gather, from neighbour to neighbour
  kHierarchicalCopy,      ///< sum within groups of about sqrt(N) ranks, then across the groups, then copy back
  kReductionToOneDevice,  ///< rank 0 sums everything in rank order, the others copy
};

inline constexpr auto kLocalAlgorithmNames = std::to_array<std::pair<std::string_view, LocalAlgorithm>>({
    {"one_pass", LocalAlgorithm::kOnePass},
    {"ring", LocalAlgorithm::kRing},
    {"hierarchical_copy", LocalAlgorithm::kHierarchicalCopy},
    {"reduction_to_one_device", LocalAlgorithm::kReductionToOneDevice},
});

struct LocalGroupOptions {
  LocalAlgorithm algorithm = LocalAlgorithm::kOnePass;
  bool spin = false;           ///< every rank has a core of its own (see Barrier)
  double timeout_seconds = 0;  ///< 0: none
};

/// Ranks that are threads of this process. Owns the communicators; a rank's is used by one thread at a time.
class LocalGroup {
 public:
  LocalGroup(int size, const LocalGroupOptions& options);
  ~LocalGroup();

  int size() const { return static_cast<int>(communicators_.size()); }
  Communicator& communicator(int rank) const { return *communicators_[static_cast<std::size_t>(rank)]; }

 private:
  class Rank;
  struct Shared;
  std::unique_ptr<Shared> shared_;
  std::vector<std::unique_ptr<Communicator>> communicators_;
};

}  // namespace mirrortrain
