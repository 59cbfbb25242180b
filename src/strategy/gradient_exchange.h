#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "collective/local/reduction.h"
#include "strategy/packs.h"
#include "strategy/variable_store.h"

namespace mirrortrain {

/// Reduces the replicas' gradients pack by pack with a cross-device operation, each as soon as it is full: afterwards
/// every replica's gradients hold the sum. The order of each sum is over replicas, whichever lane runs them.
class GradientExchange {
 public:
  GradientExchange(const VariableStore& variables, LocalReduction reduction, std::uint64_t bytes_per_pack);

  /// Puts the packs in the order in which they get full. `complete_after(variable)`: after how many steps of the
  /// training program a variable's gradient is complete.
  void order(const std::function<std::size_t(std::size_t variable)>& complete_after);

  std::size_t packs() const { return packs_.size(); }
  const Pack& pack(std::size_t index) const { return packs_[index].pack; }
  /// After how many steps of the training program the pack is full.
  std::size_t full_after(std::size_t index) const { return packs_[index].full_after; }

  // What a replica does for a pack: `prepare`, then each stage; all replicas meet before each stage and after the last.

  /// Scales the replica's gradients as their aggregation says; `examples`: of the global batch.
  void prepare(std::size_t index, int replica, std::int64_t examples) const;
  int stages() const { return reduction_.stages(); }
  void run(std::size_t index, int stage, int replica) const;

 private:
  struct Member {
    Pack pack;
    Aggregation aggregation = Aggregation::kMean;
    std::vector<std::byte*> data;  ///< by replica
    std::size_t full_after = 0;
  };
  LocalReduction reduction_;
  int replicas_;
  std::vector<Member> packs_;
};

}  // namespace mirrortrain
