#pragma once

#include <vector>

#include "base/shape.h"
#include "graph/graph.h"
#include "model/variable_update.h"

namespace mirrortrain {

/// The graph that makes a direction of a whole variable's gradient: it is scaled and clipped, by its own norm or by
/// value, and the rule's. All values are float32; tensors are those of one row of a batch.
struct DirectionGraph {
  Graph graph;
  // Inputs.
  ValueId gradient = kNoValue, weight = kNoValue;
  ValueId scale = kNoValue, clip_value = kNoValue, learning_rate = kNoValue, update = kNoValue;  ///< see StepParams
  std::vector<ValueId> states;                                                                   ///< as of states_of
  // Outputs.
  ValueId direction = kNoValue;
  std::vector<ValueId> new_states;
};

/// For an update that has_direction().
///  - Adafactor (Shazeer and Stern 2018): with the mean square v of the gradient g, decaying by 1 - t^beta_2_decay,
///    which is r c / mean(r) of a matrix's row means r and column means c, the direction is u / max(1, rms(u) /
///    clip_threshold) * max(epsilon_2, rms(w)), where u = g / sqrt(v).
///  - Muon (Jordan et al. 2024): of the momentum m = momentum m + g, or with Nesterov's look ahead of g + momentum m,
///    divided by its norm, `ns_steps` times x = a x + (b A + c A^2) x with A = x x^T; times rms_rate sqrt(the larger
///    side) (Liu et al. 2025).
DirectionGraph direction_of(const VariableUpdate& update, const Shape& shape);

}  // namespace mirrortrain
