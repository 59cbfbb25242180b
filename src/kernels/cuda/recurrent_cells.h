#pragma once

#include "kernels/cuda/recurrent.h"
#include "kernels/cuda/stream_kernel.h"

// Recurrent cells at a time step of a row and unit, whatever computed their products.
namespace mirrortrain::cuda {

/// A layer's operands. The workspace holds each row's state twice, before and after a time step, and its cell (for a
/// GRU the state after the reset).
template <class T>
struct Recurrence {
  RecurrentShape s;
  const T* projected;
  const float *kernel, *bias;
  const float* mask;
  T* states;
  float *saved, *state, *cell;

  /// Those of all rows before a time step.
  MIRRORTRAIN_HOST_DEVICE float* state_of(std::int64_t step) const {
    return state + step % 2 * whole_lines(s.rows * s.units);
  }
  __device__ float* state_at(std::int64_t row, std::int64_t step) const { return state_of(step) + row * s.units; }
  __device__ LeftFactors states_at(std::int64_t step) const { return {state_at(0, step), s.units}; }
  __device__ RightFactors kernel_from(std::int64_t gate, std::int64_t unit) const {
    return {kernel + gate * s.units + unit, s.gates * s.units, s.units};
  }
  __device__ float bias_of(std::int64_t gate, std::int64_t unit) const {
    return bias == nullptr ? 0.0f : bias[gate * s.units + unit];
  }
  __device__ float from_input(std::int64_t row, std::int64_t step, std::int64_t gate, std::int64_t unit) const {
    return static_cast<float>(projected[s.at(row, s.read_by(step), s.gates) + gate * s.units + unit]);
  }
  __device__ void save(std::int64_t row, std::int64_t step, std::int64_t number, std::int64_t unit, float value) const {
    if (saved != nullptr) saved[s.at(row, step, s.saved) + number * s.units + unit] = value;
  }
  __device__ void set_state(std::int64_t row, std::int64_t step, std::int64_t unit, float value) const {
    const T stored = T(value);
    state_at(row, step + 1)[unit] = static_cast<float>(stored);
    if (states != nullptr) states[s.at(row, step, 1) + unit] = stored;
  }

  /// For a time step that does not count. Of the saved values, only an LSTM's cell is read.
  __device__ void keep_state(std::int64_t row, std::int64_t step, std::int64_t unit) const {
    if (s.op.cell == Cell::kLstm && step == 0) cell[row * s.units + unit] = 0;
    for (std::int64_t number = 0; number < s.saved; ++number) {
      save(row, step, number, unit, number == 4 ? cell[row * s.units + unit] : 0.0f);
    }
    set_state(row, step, unit, state_at(row, step)[unit]);
  }

  __device__ void lstm(std::int64_t row, std::int64_t step, std::int64_t unit, const float (&sums)[4]) const {
    float gate[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      gate[k] =
          activate(k == 2 ? s.op.activation : s.op.recurrent_activation, sums[k] + from_input(row, step, k, unit));
      save(row, step, k, unit, gate[k]);
    }
    float& own = cell[row * s.units + unit];
    own = scalar::lstm_cell(gate[0], gate[1], gate[2], step > 0 ? own : 0.0f);
    save(row, step, 4, unit, own);
    set_state(row, step, unit, gate[3] * activate(s.op.activation, own));
  }

  __device__ void simple(std::int64_t row, std::int64_t step, std::int64_t unit, float sum) const {
    const float value = activate(s.op.activation, sum + from_input(row, step, 0, unit));
    save(row, step, 0, unit, value);
    set_state(row, step, unit, value);
  }

  __device__ float gru_gate(std::int64_t row, std::int64_t step, int gate, std::int64_t unit, float sum) const {
    const float value = activate(s.op.recurrent_activation, sum + from_input(row, step, gate, unit));
    save(row, step, gate, unit, value);
    return value;
  }
  __device__ void gru(std::int64_t row, std::int64_t step, std::int64_t unit, float update, float inner) const {
    const float candidate = activate(s.op.activation, inner + from_input(row, step, 2, unit));
    save(row, step, 2, unit, candidate);
    set_state(row, step, unit, scalar::gru_state(update, candidate, state_at(row, step)[unit]));
  }

  /// The whole time step of a cell with one product, from the sums of product and bias.
  template <Cell kCell, int kGates>
  __device__ void step_from(std::int64_t row, std::int64_t step, std::int64_t unit, const float (&sums)[kGates]) const {
    if (!s.counts(mask, row, step)) {
      keep_state(row, step, unit);
    } else if constexpr (kCell == Cell::kLstm) {
      lstm(row, step, unit, sums);
    } else if constexpr (kCell == Cell::kSimple) {
      simple(row, step, unit, sums[0]);
    } else {
      const float update = gru_gate(row, step, 0, unit, sums[0]), reset = gru_gate(row, step, 1, unit, sums[1]);
      save(row, step, 3, unit, sums[2]);
      gru(row, step, unit, update, reset * sums[2]);
    }
  }
};

template <class T>
Recurrence<T> recurrence(const RecurrentShape& s, const KernelArgs& args, Floats& workspace) {
  const std::int64_t states = whole_lines(s.rows * s.units);
  float *const state = workspace.take(2 * states), *const cell = workspace.take(states);
  return {s,
          input<T>(args, 0),
          input<float>(args, 1),
          input<float>(args, 2),
          input<float>(args, 3),
          output<T>(args, 0),
          output<float>(args, 1),
          state,
          cell};
}
/// Floats that it takes.
inline std::int64_t recurrence_floats(const RecurrentShape& s) { return 3 * whole_lines(s.rows * s.units); }

}  // namespace mirrortrain::cuda
