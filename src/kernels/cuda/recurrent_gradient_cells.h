#pragma once

#include "kernels/cuda/recurrent.h"
#include "kernels/cuda/stream_kernel.h"

// Gradients of recurrent cells at a time step of a row and unit, whatever computes their products.
namespace mirrortrain::cuda {

/// The backward pass. The workspace holds each row's gradients of the recurrent products' contribution to the gates; of
/// the state after a time step, from later time steps only; and likewise of an LSTM's cell.
template <class T>
struct RecurrenceBack {
  RecurrentShape s;
  const T* states;
  const float* saved;
  const T* gradient;
  const float* mask;
  T *projected, *left, *right;
  float *gates, *state, *cell;

  __device__ float saved_at(std::int64_t row, std::int64_t step, int number, std::int64_t unit) const {
    return saved[s.at(row, step, s.saved) + number * s.units + unit];
  }
  __device__ float state_before(std::int64_t row, std::int64_t step, std::int64_t unit) const {
    return step > 0 ? static_cast<float>(states[s.at(row, step - 1, 1) + unit]) : 0.0f;
  }
  /// The gradient of the state, the step's own output included.
  __device__ float of_state(std::int64_t row, std::int64_t step, std::int64_t unit) const {
    const float own = static_cast<float>(gradient[s.at(row, step, 1) + unit]);
    return step + 1 < s.steps ? own + state[row * s.units + unit] : own;
  }
  __device__ float& gate(std::int64_t row, int number, std::int64_t unit) const {
    return gates[(row * s.gates + number) * s.units + unit];
  }
  /// Sets number `number` of a unit in an output with `of_a_unit` of them per time step of the input.
  __device__ void put(T* output, std::int64_t of_a_unit, std::int64_t row, std::int64_t step, int number,
                      std::int64_t unit, float value) const {
    if (output != nullptr) output[s.at(row, s.read_by(step), of_a_unit) + number * s.units + unit] = T(value);
  }

  /// For a time step that does not count: the gradients of state and cell are passed on unchanged, those of the gates
  /// are zero.
  __device__ void keep_state(std::int64_t row, std::int64_t step, std::int64_t unit) const {
    state[row * s.units + unit] = of_state(row, step, unit);
    if (s.op.cell == Cell::kLstm && step + 1 == s.steps) cell[row * s.units + unit] = 0;
    for (int k = 0; k < static_cast<int>(s.gates); ++k) {
      gate(row, k, unit) = 0;
      put(projected, s.gates, row, step, k, unit, 0);
    }
    for (int k = 0; k < static_cast<int>(s.products); ++k) put(left, s.products, row, step, k, unit, 0);
    for (int k = 0; k < static_cast<int>(s.products * s.gates); ++k) {
      put(right, s.products * s.gates, row, step, k, unit, 0);
    }
  }

  __device__ void lstm(std::int64_t row, std::int64_t step, std::int64_t unit) const {
    float value[4], to[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) value[k] = saved_at(row, step, k, unit);
    const float of_output = of_state(row, step, unit), after = activate(s.op.activation, saved_at(row, step, 4, unit));
    float& own = cell[row * s.units + unit];
    const float later = step + 1 < s.steps ? own : 0.0f;
    const scalar::LstmGradient<float> found(later + activation_gradient(s.op.activation, after, of_output * value[3]),
                                            value[0], value[1], value[2],
                                            step > 0 ? saved_at(row, step - 1, 4, unit) : 0.0f);
    own = found.before;
    to[0] = found.input, to[1] = found.forget, to[2] = found.candidate, to[3] = of_output * after;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const auto kind = k == 2 ? s.op.activation : s.op.recurrent_activation;
      gate(row, k, unit) = to[k] = activation_gradient(kind, value[k], to[k]);
      put(projected, 4, row, step, k, unit, to[k]);
    }
    put(left, 1, row, step, 0, unit, state_before(row, step, unit));
  }

  __device__ void simple(std::int64_t row, std::int64_t step, std::int64_t unit) const {
    const float to = activation_gradient(s.op.activation, saved_at(row, step, 0, unit), of_state(row, step, unit));
    gate(row, 0, unit) = to;
    put(projected, 1, row, step, 0, unit, to);
    put(left, 1, row, step, 0, unit, state_before(row, step, unit));
  }

  /// All but the reset gate and the values derived from it.
  __device__ void gru(std::int64_t row, std::int64_t step, std::int64_t unit) const {
    const float update = saved_at(row, step, 0, unit), candidate = saved_at(row, step, 2, unit);
    const float before = state_before(row, step, unit);
    const scalar::GruGradient<float> found(of_state(row, step, unit), update, candidate, before);
    state[row * s.units + unit] = found.before;
    const float to_update = activation_gradient(s.op.recurrent_activation, update, found.update);
    const float to_candidate = activation_gradient(s.op.activation, candidate, found.candidate);
    gate(row, 0, unit) = to_update;
    gate(row, 2, unit) = to_candidate;
    put(projected, 3, row, step, 0, unit, to_update);
    put(projected, 3, row, step, 2, unit, to_candidate);
    put(left, s.products, row, step, 0, unit, before);
    put(right, 3 * s.products, row, step, 0, unit, to_update);
  }

  __device__ void reset_gate(std::int64_t row, std::int64_t step, std::int64_t unit, float to_reset) const {
    const float to_gate = activation_gradient(s.op.recurrent_activation, saved_at(row, step, 1, unit), to_reset);
    gate(row, 1, unit) = to_gate;
    put(projected, 3, row, step, 1, unit, to_gate);
    put(right, 3 * s.products, row, step, 1, unit, to_gate);
  }

  /// For a reset after the product.
  __device__ void reset_after(std::int64_t row, std::int64_t step, std::int64_t unit) const {
    float& to_candidate = gate(row, 2, unit);
    reset_gate(row, step, unit, to_candidate * saved_at(row, step, 3, unit));
    to_candidate *= saved_at(row, step, 1, unit);
    put(right, 3, row, step, 2, unit, to_candidate);
  }

  /// For a reset before the product; `after_reset`: the gradient of the state after the reset.
  __device__ void reset_before(std::int64_t row, std::int64_t step, std::int64_t unit, float after_reset) const {
    const float before = state_before(row, step, unit), reset = saved_at(row, step, 1, unit);
    state[row * s.units + unit] += after_reset * reset;
    reset_gate(row, step, unit, after_reset * before);
    put(left, 2, row, step, 1, unit, reset * before);
    for (int k = 2; k < 5; ++k) put(right, 6, row, step, k, unit, 0);
    put(right, 6, row, step, 5, unit, gate(row, 2, unit));
  }

  /// A time step of a cell with one product, but for that product.
  template <Cell kCell>
  __device__ void step(std::int64_t row, std::int64_t step, std::int64_t unit) const {
    if (!s.counts(mask, row, step)) {
      keep_state(row, step, unit);
    } else if constexpr (kCell == Cell::kLstm) {
      lstm(row, step, unit);
    } else if constexpr (kCell == Cell::kSimple) {
      simple(row, step, unit);
    } else {
      gru(row, step, unit);
      if constexpr (kCell == Cell::kGru) reset_after(row, step, unit);
    }
  }

  /// Adds what the gates of a time step, multiplied by the kernel, give to the state before it.
  __device__ void add_to_state(std::int64_t row, std::int64_t step, std::int64_t unit, float product) const {
    float& own = state[row * s.units + unit];
    const bool adds = !s.op.adds_products() || !s.counts(mask, row, step);
    own = adds ? own + product : product;
  }
};

template <class T>
RecurrenceBack<T> recurrence_back(const RecurrentShape& s, const KernelArgs& args, Floats& workspace) {
  const std::int64_t states = s.rows * s.units;
  float *const gates = workspace.take(s.gates * states), *const state = workspace.take(states);
  float* const cell = workspace.take(states);
  return {s,
          input<T>(args, 1),
          input<float>(args, 2),
          input<T>(args, 3),
          input<float>(args, 4),
          output<T>(args, 0),
          output<T>(args, 1),
          args.outputs.size() > 2 ? output<T>(args, 2) : nullptr,
          gates,
          state,
          cell};
}
/// Floats that it takes.
inline std::int64_t recurrence_back_floats(const RecurrentShape& s) {
  return whole_lines(s.gates * s.rows * s.units) + 2 * whole_lines(s.rows * s.units);
}

}  // namespace mirrortrain::cuda
