#pragma once

#include <cstdint>

#include "collective/local/reduction.h"
#include "strategy/gradients/gradient_packs.h"

namespace mirrortrain {

/// Reduces the gradients of replicas on one memory pack by pack with a cross-device operation, each as soon as it is
/// full: afterwards every replica's gradients hold the sum. The order of each sum is over replicas, whichever lane runs
/// them.
class GradientExchange {
 public:
  GradientExchange(const VariableStore& variables, LocalReduction reduction, std::uint64_t bytes_per_pack);

  GradientPacks& packs() { return packs_; }

  // What a replica does for a pack: `prepare`, then each stage; all replicas meet before each stage and after the last.

  /// Scales the replica's gradients as their aggregation says; `examples`: of the global batch.
  void prepare(std::size_t index, int replica, std::int64_t examples) const;
  int stages() const { return reduction_.stages(); }
  void run(std::size_t index, int stage, int replica) const;

 private:
  LocalReduction reduction_;
  int replicas_;
  GradientPacks packs_;
};

}  // namespace mirrortrain
