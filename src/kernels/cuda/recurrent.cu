#include "kernels/cuda/custom_kernels.h"
#include "kernels/cuda/recurrent.h"
#include "kernels/cuda/stream_kernel.h"

namespace mirrortrain::cuda {
namespace {

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

  __device__ float* state_at(std::int64_t row, std::int64_t step) const {
    return state + (step % 2 * s.rows + row) * s.units;
  }
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
};

template <Cell kCell, class T>
__global__ void __launch_bounds__(kBlock) recurrent(Recurrence<T> layer) {
  __shared__ float tile[kBlock];
  constexpr int kBlocks = kCell == Cell::kLstm ? 4 : kCell == Cell::kGru ? 3 : kCell == Cell::kSimple ? 1 : 2;
  const RecurrentShape& s = layer.s;
  for (std::int64_t first = blockIdx.x * kRecurrentRows; first < s.rows; first += gridDim.x * kRecurrentRows) {
    const BlockOfRows rows{s, first, tile};
    rows.each_unit([&](std::int64_t unit, bool exists) {
      for (int r = 0; exists && r < kRecurrentRows; ++r) {
        if (rows.has(r)) layer.state_at(first + r, 0)[unit] = 0;
      }
    });
    for (std::int64_t step = 0; step < s.steps; ++step) {
      rows.each_unit([&](std::int64_t unit, bool exists) {
        float sums[kRecurrentRows][kBlocks];
        for (int r = 0; r < kRecurrentRows; ++r) {
          for (int k = 0; k < kBlocks; ++k) sums[r][k] = exists ? layer.bias_of(k, unit) : 0.0f;
        }
        rows.add_product(sums, s.units, layer.states_at(step), layer.kernel_from(0, unit), exists);
        for (int r = 0; exists && r < kRecurrentRows; ++r) {
          const std::int64_t row = first + r;
          if (!rows.has(r)) continue;
          if (!s.counts(layer.mask, row, step)) {
            // A GRU's second product must not read uninitialized values of the row.
            if constexpr (kCell == Cell::kGruResetBefore) layer.cell[row * s.units + unit] = 0;
            layer.keep_state(row, step, unit);
          } else if constexpr (kCell == Cell::kLstm) {
            layer.lstm(row, step, unit, sums[r]);
          } else if constexpr (kCell == Cell::kSimple) {
            layer.simple(row, step, unit, sums[r][0]);
          } else {
            const float update = layer.gru_gate(row, step, 0, unit, sums[r][0]);
            const float reset = layer.gru_gate(row, step, 1, unit, sums[r][1]);
            if constexpr (kCell == Cell::kGru) {
              layer.save(row, step, 3, unit, sums[r][2]);
              layer.gru(row, step, unit, update, reset * sums[r][2]);
            } else {
              // The update gate is stored temporarily in place of the new state.
              layer.state_at(row, step + 1)[unit] = update;
              layer.cell[row * s.units + unit] = reset * layer.state_at(row, step)[unit];
            }
          }
        }
      });
      if constexpr (kCell == Cell::kGruResetBefore) {
        rows.each_unit([&](std::int64_t unit, bool exists) {
          float sums[kRecurrentRows][1];
          for (int r = 0; r < kRecurrentRows; ++r) sums[r][0] = exists ? layer.bias_of(2, unit) : 0.0f;
          rows.add_product(sums, s.units, {layer.cell, s.units}, layer.kernel_from(2, unit), exists);
          for (int r = 0; exists && r < kRecurrentRows; ++r) {
            const std::int64_t row = first + r;
            if (!rows.has(r) || !s.counts(layer.mask, row, step)) continue;
            layer.gru(row, step, unit, layer.state_at(row, step + 1)[unit], sums[r][0]);
          }
        });
      }
    }
  }
}

std::unique_ptr<Kernel> make_recurrent(const ops::Recurrent& op, const KernelSpecs& specs) {
  const RecurrentShape s(op, specs.outputs[0].shape);
  const std::int64_t states = s.rows * s.units;
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    const auto body = [=](Stream& stream, const KernelArgs& args) {
      Floats floats{reinterpret_cast<float*>(args.workspace)};
      float *const state = floats.take(2 * states), *const cell = floats.take(states);
      const Recurrence<T> layer{s,
                                input<T>(args, 0),
                                input<float>(args, 1),
                                input<float>(args, 2),
                                input<float>(args, 3),
                                output<T>(args, 0),
                                output<float>(args, 1),
                                state,
                                cell};
      with_cell(s.op.cell, [&]<Cell kCell>(std::integral_constant<Cell, kCell>) {
        launch(stream, blocks_for(s.rows, kRecurrentRows), kBlock, 0, recurrent<kCell, T>, layer);
      });
    };
    return stream_kernel(body, static_cast<std::size_t>(3 * states) * sizeof(float));
  });
}

}  // namespace

void add_recurrent_kernels(KernelRegistry& registry) { registry.add<ops::Recurrent>(make_recurrent); }

}  // namespace mirrortrain::cuda
