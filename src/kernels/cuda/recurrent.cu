#include "kernels/cuda/custom_kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/stream_kernel.h"
#include "kernels/scalar/activations.h"
#include "kernels/scalar/recurrent.h"

namespace mirrortrain::cuda {
namespace {

using ops::Cell;
using scalar::RecurrentShape;

/// Rows that a block takes through all steps; a number of the kernel that a thread reads serves all of them.
constexpr int kRows = 4;
/// Steps of a product whose left factors are in shared memory.
constexpr int kTile = kBlock / kRows;

__device__ float activate(ops::ActivationKind kind, float x) {
  return scalar::with_activation(kind, [&](auto activation) { return activation.forward(x); });
}
__device__ float activation_gradient(ops::ActivationKind kind, float y, float dy) {
  return scalar::with_activation(kind, [&](auto activation) { return activation.backward(y, dy); });
}

/// [count] vectors of each row, `stride` apart.
struct LeftFactors {
  const float* data;
  std::int64_t stride;
};
/// Elements (step, block) of one unit: data[step * stride + block * next].
struct RightFactors {
  const float* data;
  std::int64_t stride, next;
};

/// The rows of a block, and the units in turn: a thread has one unit of all rows at a time.
struct BlockOfRows {
  RecurrentShape s;
  std::int64_t first;
  float* tile;  ///< shared, [kRows][kTile]

  __device__ bool has(int row) const { return first + row < s.rows; }

  /// Calls body(unit, whether there is such a unit) by all threads together, until every unit had its turn.
  template <class Body>
  __device__ void each_unit(const Body& body) const {
    for (std::int64_t unit = threadIdx.x; unit - threadIdx.x < s.units; unit += kBlock) body(unit, unit < s.units);
    __syncthreads();
  }

  /// sums[row][block] += the sum over steps of left[row][step] right(step, block), in the order of the steps.
  template <int kBlocks>
  __device__ void add_product(float (&sums)[kRows][kBlocks], std::int64_t steps, const LeftFactors& left,
                              const RightFactors& right, bool takes_part) const {
    const int row = threadIdx.x / kTile, own = threadIdx.x % kTile;
    for (std::int64_t begin = 0; begin < steps; begin += kTile) {
      const std::int64_t count = steps - begin < kTile ? steps - begin : kTile;
      __syncthreads();
      if (own < count) tile[threadIdx.x] = has(row) ? left.data[(first + row) * left.stride + begin + own] : 0.0f;
      __syncthreads();
      const float* numbers = right.data + begin * right.stride;
      for (std::int64_t i = 0; takes_part && i < count; ++i, numbers += right.stride) {
#pragma unroll
        for (int block = 0; block < kBlocks; ++block) {
          const float number = numbers[block * right.next];
#pragma unroll
          for (int r = 0; r < kRows; ++r) sums[r][block] += tile[r * kTile + i] * number;
        }
      }
    }
  }
};

/// What a layer computes with. The workspace holds each row's state, twice: before a step and after it; and its cell, a
/// GRU's state after the reset.
template <class T>
struct Recurrence {
  RecurrentShape s;
  const T* projected;
  const float *kernel, *bias;
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
  constexpr int kBlocks = kCell == Cell::kLstm ? 4 : kCell == Cell::kGru ? 3 : 2;
  const RecurrentShape& s = layer.s;
  for (std::int64_t first = blockIdx.x * kRows; first < s.rows; first += gridDim.x * kRows) {
    const BlockOfRows rows{s, first, tile};
    rows.each_unit([&](std::int64_t unit, bool exists) {
      for (int r = 0; exists && r < kRows; ++r) {
        if (rows.has(r)) layer.state_at(first + r, 0)[unit] = 0;
      }
    });
    for (std::int64_t step = 0; step < s.steps; ++step) {
      rows.each_unit([&](std::int64_t unit, bool exists) {
        float sums[kRows][kBlocks];
        for (int r = 0; r < kRows; ++r) {
          for (int k = 0; k < kBlocks; ++k) sums[r][k] = exists ? layer.bias_of(k, unit) : 0.0f;
        }
        rows.add_product(sums, s.units, layer.states_at(step), layer.kernel_from(0, unit), exists);
        for (int r = 0; exists && r < kRows; ++r) {
          const std::int64_t row = first + r;
          if (!rows.has(r)) continue;
          if constexpr (kCell == Cell::kLstm) {
            layer.lstm(row, step, unit, sums[r]);
          } else {
            const float update = layer.gru_gate(row, step, 0, unit, sums[r][0]);
            const float reset = layer.gru_gate(row, step, 1, unit, sums[r][1]);
            if constexpr (kCell == Cell::kGru) {
              layer.save(row, step, 3, unit, sums[r][2]);
              layer.gru(row, step, unit, update, reset * sums[r][2]);
            } else {
              // The update gate waits where the new state will be.
              layer.state_at(row, step + 1)[unit] = update;
              layer.cell[row * s.units + unit] = reset * layer.state_at(row, step)[unit];
            }
          }
        }
      });
      if constexpr (kCell == Cell::kGruResetBefore) {
        rows.each_unit([&](std::int64_t unit, bool exists) {
          float sums[kRows][1];
          for (int r = 0; r < kRows; ++r) sums[r][0] = exists ? layer.bias_of(2, unit) : 0.0f;
          rows.add_product(sums, s.units, {layer.cell, s.units}, layer.kernel_from(2, unit), exists);
          for (int r = 0; exists && r < kRows; ++r) {
            if (rows.has(r)) layer.gru(first + r, step, unit, layer.state_at(first + r, step + 1)[unit], sums[r][0]);
          }
        });
      }
    }
  }
}

/// The way back. The workspace holds each row's gradients of what the recurrent products give to the gates; of the
/// state after a step, in which only later steps count; and of an LSTM's cell likewise; then the transposed kernel.
template <class T>
struct RecurrenceBack {
  RecurrentShape s;
  const T* states;
  const float* saved;
  const T* gradient;
  T *projected, *left, *right;
  float *gates, *state, *cell, *turned;

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
  /// Sets number `number` of a unit in an output with so many of them by step of the input.
  __device__ void put(T* output, std::int64_t of_a_unit, std::int64_t row, std::int64_t step, int number,
                      std::int64_t unit, float value) const {
    if (output != nullptr) output[s.at(row, s.read_by(step), of_a_unit) + number * s.units + unit] = T(value);
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

  /// All but the reset gate and what follows from it.
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

  /// Where the reset comes after the product.
  __device__ void reset_after(std::int64_t row, std::int64_t step, std::int64_t unit) const {
    float& to_candidate = gate(row, 2, unit);
    reset_gate(row, step, unit, to_candidate * saved_at(row, step, 3, unit));
    to_candidate *= saved_at(row, step, 1, unit);
    put(right, 3, row, step, 2, unit, to_candidate);
  }

  /// Where it comes before the product; `after_reset`: the gradient of the state that is left.
  __device__ void reset_before(std::int64_t row, std::int64_t step, std::int64_t unit, float after_reset) const {
    const float before = state_before(row, step, unit), reset = saved_at(row, step, 1, unit);
    state[row * s.units + unit] += after_reset * reset;
    reset_gate(row, step, unit, after_reset * before);
    put(left, 2, row, step, 1, unit, reset * before);
    for (int k = 2; k < 5; ++k) put(right, 6, row, step, k, unit, 0);
    put(right, 6, row, step, 5, unit, gate(row, 2, unit));
  }
};

template <Cell kCell, class T>
__global__ void __launch_bounds__(kBlock) recurrent_gradient(RecurrenceBack<T> layer) {
  __shared__ float tile[kBlock];
  const RecurrentShape& s = layer.s;
  const std::int64_t columns = s.gates * s.units;
  for (std::int64_t first = blockIdx.x * kRows; first < s.rows; first += gridDim.x * kRows) {
    const BlockOfRows rows{s, first, tile};
    for (std::int64_t step = s.steps - 1; step >= 0; --step) {
      rows.each_unit([&](std::int64_t unit, bool exists) {
        for (int r = 0; exists && r < kRows; ++r) {
          if (!rows.has(r)) continue;
          if constexpr (kCell == Cell::kLstm) {
            layer.lstm(first + r, step, unit);
          } else {
            layer.gru(first + r, step, unit);
            if constexpr (kCell == Cell::kGru) layer.reset_after(first + r, step, unit);
          }
        }
      });
      const auto add_product = [&](float(&sums)[kRows][1], int gate, int gates, std::int64_t unit, bool exists) {
        rows.add_product(sums, gates * s.units, {layer.gates + gate * s.units, columns},
                         {layer.turned + gate * s.units * s.units + unit, s.units, 0}, exists);
      };
      if constexpr (kCell == Cell::kGruResetBefore) {
        rows.each_unit([&](std::int64_t unit, bool exists) {
          float sums[kRows][1] = {};
          add_product(sums, 2, 1, unit, exists);
          for (int r = 0; exists && r < kRows; ++r) {
            if (rows.has(r)) layer.reset_before(first + r, step, unit, sums[r][0]);
          }
        });
      }
      if (step == 0) break;
      rows.each_unit([&](std::int64_t unit, bool exists) {
        float sums[kRows][1] = {};
        add_product(sums, 0, kCell == Cell::kGruResetBefore ? 2 : static_cast<int>(s.gates), unit, exists);
        for (int r = 0; exists && r < kRows; ++r) {
          if (!rows.has(r)) continue;
          float& state = layer.state[(first + r) * s.units + unit];
          state = kCell == Cell::kLstm ? sums[r][0] : state + sums[r][0];
        }
      });
    }
  }
}

/// [gates units][units] from [units][gates units].
__global__ void __launch_bounds__(kBlock)
    transpose_kernel(std::int64_t units, std::int64_t columns, const float* kernel, float* turned) {
  for (std::int64_t i = grid_thread(); i < units * columns; i += grid_threads()) {
    turned[i] = kernel[i % units * columns + i / units];
  }
}

/// Calls function(std::integral_constant<Cell, ...>).
template <class Function>
void with_cell(Cell cell, const Function& function) {
  if (cell == Cell::kLstm) return function(std::integral_constant<Cell, Cell::kLstm>{});
  if (cell == Cell::kGru) return function(std::integral_constant<Cell, Cell::kGru>{});
  function(std::integral_constant<Cell, Cell::kGruResetBefore>{});
}

/// Parts of a workspace of floats.
struct Floats {
  float* next;
  float* take(std::int64_t count) { return std::exchange(next, next + count); }
};

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
                                output<T>(args, 0),
                                output<float>(args, 1),
                                state,
                                cell};
      with_cell(s.op.cell, [&]<Cell kCell>(std::integral_constant<Cell, kCell>) {
        launch(stream, blocks_for(s.rows, kRows), kBlock, 0, recurrent<kCell, T>, layer);
      });
    };
    return stream_kernel(body, static_cast<std::size_t>(3 * states) * sizeof(float));
  });
}

std::unique_ptr<Kernel> make_recurrent_gradient(const ops::RecurrentGradient& op, const KernelSpecs& specs) {
  const RecurrentShape s(op, specs.inputs[1].shape);
  const std::int64_t states = s.rows * s.units, columns = s.gates * s.units;
  return for_float_type(op, specs.inputs[1].dtype, [&]<class T>(T) {
    const auto body = [=](Stream& stream, const KernelArgs& args) {
      Floats floats{reinterpret_cast<float*>(args.workspace)};
      float *const gates = floats.take(s.gates * states), *const state = floats.take(states);
      float *const cell = floats.take(states), *const turned = floats.take(s.units * columns);
      T* const right = args.outputs.size() > 2 ? output<T>(args, 2) : nullptr;
      const RecurrenceBack<T> layer{s,
                                    input<T>(args, 1),
                                    input<float>(args, 2),
                                    input<T>(args, 3),
                                    output<T>(args, 0),
                                    output<T>(args, 1),
                                    right,
                                    gates,
                                    state,
                                    cell,
                                    turned};
      launch(stream, blocks_for(s.units * columns), kBlock, 0, transpose_kernel, s.units, columns,
             input<float>(args, 0), turned);
      with_cell(s.op.cell, [&]<Cell kCell>(std::integral_constant<Cell, kCell>) {
        launch(stream, blocks_for(s.rows, kRows), kBlock, 0, recurrent_gradient<kCell, T>, layer);
      });
    };
    return stream_kernel(body, static_cast<std::size_t>((s.gates + 2) * states + s.units * columns) * sizeof(float));
  });
}

}  // namespace

void add_recurrent_kernels(KernelRegistry& registry) {
  registry.add<ops::Recurrent>(make_recurrent);
  registry.add<ops::RecurrentGradient>(make_recurrent_gradient);
}

}  // namespace mirrortrain::cuda
