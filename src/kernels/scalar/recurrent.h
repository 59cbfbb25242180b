#pragma once

#include <cstdint>

#include "base/host_device.h"
#include "base/shape.h"
#include "graph/ops/recurrent.h"

// The arithmetic and memory layout of recurrent cells, for all devices. A `Real` is a float or a vector of floats.
namespace mirrortrain::scalar {

struct RecurrentShape {
  ops::RecurrentAttributes op;
  std::int64_t rows, steps, units, gates, saved, products;

  /// `states` is [rows, steps, units].
  RecurrentShape(const ops::RecurrentAttributes& attributes, const Shape& states)
      : op(attributes),
        rows(states[0]),
        steps(states[1]),
        units(states[2]),
        gates(op.gates()),
        saved(op.saved()),
        products(op.products()) {}

  /// The index of the first number of a time step in a tensor with `of_a_unit` numbers per unit. Time steps of states
  /// and saved values are in the order in which they are computed.
  MIRRORTRAIN_HOST_DEVICE std::int64_t at(std::int64_t row, std::int64_t step, std::int64_t of_a_unit) const {
    return (row * steps + step) * of_a_unit * units;
  }
  /// Whether the input's time step that the step-th state reads counts. `mask` may be null.
  MIRRORTRAIN_HOST_DEVICE bool counts(const float* mask, std::int64_t row, std::int64_t step) const {
    return mask == nullptr || mask[row * steps + read_by(step)] != 0;
  }
  /// The input's time step that the step-th state reads.
  MIRRORTRAIN_HOST_DEVICE std::int64_t read_by(std::int64_t step) const {
    return op.backwards ? steps - 1 - step : step;
  }
};

/// An LSTM's cell after a step. Its state is output * activation(cell).
template <class Real>
MIRRORTRAIN_HOST_DEVICE inline Real lstm_cell(Real input, Real forget, Real candidate, Real before) {
  return forget * before + input * candidate;
}

/// Gradients of an LSTM's gates, after their activations, and of the cell before the step.
template <class Real>
struct LstmGradient {
  Real input, forget, candidate, before;

  /// `cell`: the gradient of the cell after the step, the state's part included.
  MIRRORTRAIN_HOST_DEVICE LstmGradient(Real cell, Real of_input, Real of_forget, Real of_candidate, Real cell_before)
      : input(cell * of_candidate), forget(cell * cell_before), candidate(cell * of_input), before(cell * of_forget) {}
};

/// A GRU's state after a step.
template <class Real>
MIRRORTRAIN_HOST_DEVICE inline Real gru_state(Real update, Real candidate, Real before) {
  return update * before + (1.0f - update) * candidate;
}

/// Gradients of a GRU's update gate and candidate, after their activations, and of the state before the time step,
/// without the contribution of its products.
template <class Real>
struct GruGradient {
  Real update, candidate, before;

  MIRRORTRAIN_HOST_DEVICE GruGradient(Real state, Real of_update, Real of_candidate, Real state_before)
      : update(state * (state_before - of_candidate)),
        candidate(state * (1.0f - of_update)),
        before(state * of_update) {}
};

}  // namespace mirrortrain::scalar
