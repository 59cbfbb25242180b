#include "kernels/cuda/custom_kernels.h"
#include "kernels/cuda/recurrent.h"
#include "kernels/cuda/stream_kernel.h"

namespace mirrortrain::cuda {
namespace {

/// The backward pass. The workspace holds each row's gradients of the recurrent products' contribution to the gates; of
/// the state after a time step, from later time steps only; and likewise of an LSTM's cell; then the transposed kernel.
template <class T>
struct RecurrenceBack {
  RecurrentShape s;
  const T* states;
  const float* saved;
  const T* gradient;
  const float* mask;
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
};

template <Cell kCell, class T>
__global__ void __launch_bounds__(kBlock) recurrent_gradient(RecurrenceBack<T> layer) {
  __shared__ float tile[kBlock];
  const RecurrentShape& s = layer.s;
  const std::int64_t columns = s.gates * s.units;
  for (std::int64_t first = blockIdx.x * kRecurrentRows; first < s.rows; first += gridDim.x * kRecurrentRows) {
    const BlockOfRows rows{s, first, tile};
    for (std::int64_t step = s.steps - 1; step >= 0; --step) {
      rows.each_unit([&](std::int64_t unit, bool exists) {
        for (int r = 0; exists && r < kRecurrentRows; ++r) {
          if (!rows.has(r)) continue;
          if (!s.counts(layer.mask, first + r, step)) {
            layer.keep_state(first + r, step, unit);
          } else if constexpr (kCell == Cell::kLstm) {
            layer.lstm(first + r, step, unit);
          } else if constexpr (kCell == Cell::kSimple) {
            layer.simple(first + r, step, unit);
          } else {
            layer.gru(first + r, step, unit);
            if constexpr (kCell == Cell::kGru) layer.reset_after(first + r, step, unit);
          }
        }
      });
      const auto add_product = [&](float(&sums)[kRecurrentRows][1], int gate, int gates, std::int64_t unit,
                                   bool exists) {
        rows.add_product(sums, gates * s.units, {layer.gates + gate * s.units, columns},
                         {layer.turned + gate * s.units * s.units + unit, s.units, 0}, exists);
      };
      if constexpr (kCell == Cell::kGruResetBefore) {
        rows.each_unit([&](std::int64_t unit, bool exists) {
          float sums[kRecurrentRows][1] = {};
          add_product(sums, 2, 1, unit, exists);
          for (int r = 0; exists && r < kRecurrentRows; ++r) {
            if (!rows.has(r) || !s.counts(layer.mask, first + r, step)) continue;
            layer.reset_before(first + r, step, unit, sums[r][0]);
          }
        });
      }
      if (step == 0) break;
      rows.each_unit([&](std::int64_t unit, bool exists) {
        float sums[kRecurrentRows][1] = {};
        add_product(sums, 0, kCell == Cell::kGruResetBefore ? 2 : static_cast<int>(s.gates), unit, exists);
        for (int r = 0; exists && r < kRecurrentRows; ++r) {
          if (!rows.has(r)) continue;
          float& state = layer.state[(first + r) * s.units + unit];
          const bool adds = !s.op.adds_products() || !s.counts(layer.mask, first + r, step);
          state = adds ? state + sums[r][0] : sums[r][0];
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
                                    input<float>(args, 4),
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
        launch(stream, blocks_for(s.rows, kRecurrentRows), kBlock, 0, recurrent_gradient<kCell, T>, layer);
      });
    };
    return stream_kernel(body, static_cast<std::size_t>((s.gates + 2) * states + s.units * columns) * sizeof(float));
  });
}

}  // namespace

void add_recurrent_gradient_kernels(KernelRegistry& registry) {
  registry.add<ops::RecurrentGradient>(make_recurrent_gradient);
}

}  // namespace mirrortrain::cuda
