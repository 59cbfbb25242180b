#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "strategy/steps/lane.h"
#include "strategy/steps/sums.h"

namespace mirrortrain {

/// A replica and the lane that runs it.
struct LaneReplica {
  Lane* lane = nullptr;
  Replica* replica = nullptr;
};

/// The sums of steps that nobody has taken yet. Each has a slot, in which the lanes leave what their replicas found.
class StepResults {
 public:
  /// `room`: how many steps may wait to be taken.
  StepResults(std::size_t metrics, std::size_t room);

  std::size_t room() const { return sums_.size(); }
  std::size_t size() const { return pending_.size(); }
  bool full() const { return size() == room(); }

  /// A step of `examples` begins; returns its slot. `regularization`: where it is not what the step finds. Throws Error
  /// where there is no room.
  std::size_t begin(std::int64_t examples, std::optional<double> regularization = std::nullopt);

  /// The sums of all steps, which are done, in order; they are forgotten with the next `begin`. `replicas`: of the
  /// run, in their order, in which they are added up, whichever lanes they are on; none where there is no model.
  std::span<const Sums> take(std::span<const LaneReplica> replicas);

 private:
  struct Pending {
    std::int64_t examples = 0;
    std::optional<double> regularization;
  };
  void add_up(std::size_t slot, std::span<const LaneReplica> replicas);

  std::vector<Pending> pending_;
  std::vector<Sums> sums_;
};

}  // namespace mirrortrain
