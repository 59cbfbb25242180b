#pragma once

#include <span>
#include <vector>

#include "strategy/parameter_server/placement.h"
#include "strategy/variables/variable_store.h"

namespace mirrortrain {

/// Maps a store's elements to their offsets in messages of all servers. The store, in host memory, and the placement
/// must outlive it.
class StoreExchange {
 public:
  /// Pushes need a store that keeps gradients.
  StoreExchange(const Placement& placement, const VariableStore& store);

  void to_store(Content content, std::span<const float> message) const;
  void from_store(Content content, std::span<float> message) const;
  /// Content::kChanging of a push: accumulated gradients, and the values that layers assign.
  void push_from_store(std::span<float> message) const;
  /// The square of the norm of a push's gradients.
  double squares_of_push(std::span<const float> message) const;

 private:
  /// A contiguous run of elements in the store and in the message.
  struct Run {
    float* elements = nullptr;
    std::int64_t offset = 0, count = 0;
    bool is_gradient = false;
  };
  std::vector<Run> runs(Content content, const VariableStore& store, bool pushes) const;
  const std::vector<Run>& runs_of(Content content) const { return runs_[static_cast<std::size_t>(content)]; }

  const Placement& placement_;
  std::vector<std::vector<Run>> runs_;  ///< by content
  std::vector<Run> push_;
};

}  // namespace mirrortrain
