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
/// nothing is exchanged for it. With kHereAlone, for which nothing is exchanged either, those that this process has,
/// and zeros in place of others.
enum class Lasting : std::uint8_t {
  kNone = 0,
  kValues = 1,
  kSlots = 2,
  kAccumulated = 4,
  kResiduals = 8,
  kAll = 15,
  kShapesAlone = 16,
  kHereAlone = 32,
};
constexpr Lasting operator|(Lasting a, Lasting b) {
  return static_cast<Lasting>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr bool includes(Lasting all, Lasting part) {
  return (static_cast<unsigned>(all) & static_cast<unsigned>(part)) != 0;
}

/// A variable of a run as the host sees it between steps: whole, in the order of files, with the copies of all the
/// run's replicas. What was not asked for is absent; `value` always has its name, shape and policy, its elements only
/// if asked for. Valid during the call that it is given to. Elements that this process has whole and in that order are
/// where they are, others in memory of a VariableWindow.
struct LastingVariable {
  std::size_t index = 0;  ///< in Model::variables
  bool trainable = false;
  DistributedVariable value;
  std::vector<DistributedVariable> slots;  ///< the optimizer's, in the order of slot_names(); none of a frozen variable
  std::optional<DistributedVariable> accumulated;  ///< gradients since the last update, if they are stored
  std::optional<DistributedVariable> residual;     ///< rounding errors of compressed gradients, by memory
  std::int64_t first = 0;                          ///< of a piece: the element of the whole with which it begins
};

using VariableVisit = std::function<void(const LastingVariable& variable)>;

/// Neighbouring elements of one thing that lasts of a variable.
struct LastingPiece {
  std::size_t index = 0;          ///< in Model::variables
  Lasting what = Lasting::kNone;  ///< kValues, kSlots, kAccumulated or kResiduals
  std::size_t slot = 0;           ///< which of the slots
  std::int64_t first = 0;         ///< the whole's element with which it begins
  DistributedVariable elements;   ///< with the variable's name and policy
};

/// Of one thing, pieces follow each other.
using PieceVisit = std::function<void(const LastingPiece& piece)>;

/// The most bytes of a piece that is not where it lasts, with all of its copies: as many as a window needs.
inline constexpr std::size_t kPieceBytes = std::size_t{4} << 20;

/// Calls `visit` for each thing that `variable` has elements of, `variable.first` on.
void for_each_piece(const LastingVariable& variable, const PieceVisit& visit);

/// The variables of a store that has all of a run's replicas, where they are.
std::vector<LastingVariable> lasting_variables(const VariableStore& store, Lasting what);

/// What of a variable a process has whole, in host memory and in the order of files: it needs no other memory.
struct InPlace {
  bool value = false, beside = false;  ///< beside: slots and accumulated gradients
};

/// Memory for one variable after the other, in the same form.
class VariableWindow {
 public:
  /// As many copies as the run has replicas; of residuals, as many as memories.
  VariableWindow(int replicas, int memories) : replicas_(replicas), memories_(memories) {}

  /// The variable of `store`, whose replicas may be only some of the run's, with the whole's `shape`; zeros, but for
  /// what is `in_place`. Valid until the next call.
  LastingVariable open(const VariableStore& store, std::size_t variable, const Shape& shape, Lasting what,
                       InPlace in_place = {});
  /// One thing of the variable alone, and of that `count` elements from `first` on: `what` is kValues, kSlots,
  /// kAccumulated or kResiduals, and `slot` says which of the slots. The others have no elements.
  LastingVariable open_piece(const VariableStore& store, std::size_t variable, Lasting what, std::size_t slot,
                             std::int64_t first, std::int64_t count);

 private:
  DistributedVariable zeros(const DistributedVariable& of, const Shape& shape, const VariablePolicy& policy,
                            int storages, int copies);
  DistributedVariable nothing_of(const DistributedVariable& of, const Shape& shape);
  DistributedVariable in_place_of(const DistributedVariable& of, const Shape& shape) const;

  int replicas_, memories_;
  std::vector<std::vector<std::byte>> memory_;
};

}  // namespace mirrortrain
