#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "strategy/variables/distributed_variable.h"
#include "strategy/variables/variable_store.h"

namespace mirrortrain {

/// What lasts of a variable from step to step; combined with |. With kShapesAlone, without the elements, so that
/// nothing is exchanged for it.
enum class Lasting : std::uint8_t {
  kNone = 0,
  kValues = 1,
  kSlots = 2,
  kAccumulated = 4,
  kResiduals = 8,
  kAll = 15,
  kShapesAlone = 16,
};
constexpr Lasting operator|(Lasting a, Lasting b) {
  return static_cast<Lasting>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr bool includes(Lasting all, Lasting part) {
  return (static_cast<unsigned>(all) & static_cast<unsigned>(part)) != 0;
}

/// A variable of a run as the host sees it between steps: whole, in the order of files, with the copies of all the
/// run's replicas. What was not asked for is absent; `value` always has its name, shape and policy, its elements only
/// if asked for. Valid during the call that it is given to.
struct LastingVariable {
  std::size_t index = 0;  ///< in Model::variables
  bool trainable = false;
  DistributedVariable value;
  std::vector<DistributedVariable> slots;  ///< the optimizer's, in the order of slot_names(); none of a frozen variable
  std::optional<DistributedVariable> accumulated;  ///< gradients since the last update, if they are stored
  std::optional<DistributedVariable> residual;     ///< rounding errors of compressed gradients, by memory
};

using VariableVisit = std::function<void(const LastingVariable& variable)>;

/// The variables of a store that has all of a run's replicas, where they are.
std::vector<LastingVariable> lasting_variables(const VariableStore& store, Lasting what);

/// Memory for one variable after the other, in the same form.
class VariableWindow {
 public:
  /// As many copies as the run has replicas; of residuals, as many as memories.
  VariableWindow(int replicas, int memories) : replicas_(replicas), memories_(memories) {}

  /// The variable of `store`, whose replicas may be only some of the run's, with the whole's `shape`; all zeros. Valid
  /// until the next call.
  LastingVariable open(const VariableStore& store, std::size_t variable, const Shape& shape, Lasting what);

 private:
  DistributedVariable zeros(const DistributedVariable& of, const Shape& shape, const VariablePolicy& policy,
                            int storages, int copies);

  int replicas_, memories_;
  std::vector<std::vector<std::byte>> memory_;
};

}  // namespace mirrortrain
