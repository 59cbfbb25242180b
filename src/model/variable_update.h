#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/shape.h"
#include "kernels/scalar/update_rules.h"
#include "kernels/scalar/update_traits.h"

namespace mirrortrain {

/// How a variable is updated: the optimizer's rule, and its options for the variable.
struct VariableUpdate {
  scalar::UpdateRule rule;
  scalar::UpdateTraits traits;
  std::optional<double> clip_norm{};  ///< of the variable's gradient by itself

  /// How many slots each weight has: the rule's, then the weights' average if there is one.
  int slots() const;
  /// Whether the rule gets directions of the whole variable, made by a graph (model/optimizers/direction_graph.h).
  bool has_direction() const { return clip_norm || scalar::takes_directions(rule); }
  /// Whether an update of a part of the variable needs the rest of it.
  bool reads_whole() const { return has_direction() || scalar::scales_by_norms(rule); }

  friend bool operator==(const VariableUpdate&, const VariableUpdate&) = default;
};

/// A tensor that an update keeps of a variable from step to step, beside the slots of its weights; zero at first.
struct UpdateState {
  std::string name;
  Shape shape;
};

/// What the directions of a variable of this shape keep. Adafactor has the means over the rows and the columns of a
/// matrix instead of a number for each weight.
std::vector<UpdateState> states_of(const VariableUpdate& update, const Shape& shape);

/// The names, which are Keras's, of all that an update keeps of a variable: the weights' slots, then the states.
std::vector<std::string> slot_names(const VariableUpdate& update, const Shape& shape);
/// The initial value of each of these.
std::vector<float> first_slots(const VariableUpdate& update, const Shape& shape);

}  // namespace mirrortrain
