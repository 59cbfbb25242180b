#include "kernels/cuda/pack.h"
#include "kernels/cuda/recurrent_cells.h"
#include "kernels/cuda/recurrent_gradient_cells.h"
#include "kernels/cuda/recurrent_steps.h"

namespace mirrortrain::cuda {
namespace {

/// The cells of all rows at a time step. `product`: of the states before it, [rows, gates, units]; those of the first
/// one are zero.
template <Cell kCell, class T>
__global__ void __launch_bounds__(kBlock) recurrent_step(Recurrence<T> layer, std::int64_t step, const float* product) {
  constexpr int kGates = kCell == Cell::kLstm ? 4 : kCell == Cell::kGru ? 3 : 1;
  const RecurrentShape& s = layer.s;
  for (std::int64_t i = grid_thread(); i < s.rows * s.units; i += grid_threads()) {
    const auto [row, unit] = divide(i, s.units);
    if (step == 0) layer.state_at(row, 0)[unit] = 0;
    float sums[kGates];
#pragma unroll
    for (int k = 0; k < kGates; ++k) {
      sums[k] = layer.bias_of(k, unit);
      if (step > 0) sums[k] += product[(row * kGates + k) * s.units + unit];
    }
    layer.template step_from<kCell>(row, step, unit, sums);
  }
}

/// The gradients of the cells at a time step. `product`: that of the later step's gates with the kernel, [rows, units].
template <Cell kCell, class T>
__global__ void __launch_bounds__(kBlock)
    recurrent_gradient_step(RecurrenceBack<T> layer, std::int64_t step, const float* product) {
  const RecurrentShape& s = layer.s;
  for (std::int64_t i = grid_thread(); i < s.rows * s.units; i += grid_threads()) {
    const auto [row, unit] = divide(i, s.units);
    if (step + 1 < s.steps) layer.add_to_state(row, step + 1, unit, product[i]);
    layer.template step<kCell>(row, step, unit);
  }
}

/// Calls function(std::integral_constant<Cell, ...>) for the cells with one product.
template <class Function>
void with_one_product(Cell cell, const Function& function) {
  if (cell == Cell::kLstm) return function(std::integral_constant<Cell, Cell::kLstm>{});
  if (cell == Cell::kGru) return function(std::integral_constant<Cell, Cell::kGru>{});
  function(std::integral_constant<Cell, Cell::kSimple>{});
}

/// Bytes of so many floats; what follows them is a library's workspace, aligned as the whole is.
std::size_t bytes_of(std::int64_t floats) { return (static_cast<std::size_t>(floats) * sizeof(float) + 63) / 64 * 64; }

std::unique_ptr<Kernel> make_by_steps(const ops::Recurrent& op, const KernelSpecs& specs, const MakeStepProduct& make) {
  const RecurrentShape s(op, specs.outputs[0].shape);
  const StepProduct product = make(s.rows, s.units, s.gates * s.units, false);
  const std::size_t own_bytes = bytes_of(recurrence_floats(s) + s.gates * s.rows * s.units);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    const auto body = [=](Stream& stream, const KernelArgs& args) {
      Floats floats{reinterpret_cast<float*>(args.workspace)};
      const auto layer = recurrence<T>(s, args, floats);
      float* const sums = floats.take(s.gates * s.rows * s.units);
      for (std::int64_t step = 0; step < s.steps; ++step) {
        const float* const states = layer.state_of(step);
        if (step > 0) product.enqueue(stream, states, layer.kernel, sums, args.workspace + own_bytes);
        with_one_product(s.op.cell, [&]<Cell kCell>(std::integral_constant<Cell, kCell>) {
          launch(stream, blocks_for(s.rows * s.units), kBlock, 0, recurrent_step<kCell, T>, layer, step, sums);
        });
      }
    };
    return stream_kernel(body, own_bytes + product.workspace_bytes);
  });
}

std::unique_ptr<Kernel> make_gradient_by_steps(const ops::RecurrentGradient& op, const KernelSpecs& specs,
                                               const MakeStepProduct& make) {
  const RecurrentShape s(op, specs.inputs[1].shape);
  const StepProduct product = make(s.rows, s.gates * s.units, s.units, true);
  const std::size_t own_bytes = bytes_of(recurrence_back_floats(s) + s.rows * s.units);
  return for_float_type(op, specs.inputs[1].dtype, [&]<class T>(T) {
    const auto body = [=](Stream& stream, const KernelArgs& args) {
      Floats floats{reinterpret_cast<float*>(args.workspace)};
      const auto layer = recurrence_back<T>(s, args, floats);
      float* const sums = floats.take(s.rows * s.units);
      for (std::int64_t step = s.steps - 1; step >= 0; --step) {
        with_one_product(s.op.cell, [&]<Cell kCell>(std::integral_constant<Cell, kCell>) {
          launch(stream, blocks_for(s.rows * s.units), kBlock, 0, recurrent_gradient_step<kCell, T>, layer, step, sums);
        });
        if (step > 0) product.enqueue(stream, layer.gates, input<float>(args, 0), sums, args.workspace + own_bytes);
      }
    };
    return stream_kernel(body, own_bytes + product.workspace_bytes);
  });
}

}  // namespace

void add_recurrent_kernels_by_steps(KernelRegistry& registry, const MakeStepProduct& make_product,
                                    const std::function<bool(std::int64_t rows, std::int64_t units)>& by_steps) {
  const auto goes_by_steps = [by_steps](Cell cell, const Shape& states) {
    return cell != Cell::kGruResetBefore && states.elements() > 0 && by_steps(states[0], states[2]);
  };
  registry.add<ops::Recurrent>([=](const ops::Recurrent& op, const KernelSpecs& specs) {
    if (!goes_by_steps(op.cell, specs.outputs[0].shape)) return make_recurrent(op, specs);
    return make_by_steps(op, specs, make_product);
  });
  registry.add<ops::RecurrentGradient>([=](const ops::RecurrentGradient& op, const KernelSpecs& specs) {
    if (!goes_by_steps(op.cell, specs.inputs[1].shape)) return make_recurrent_gradient(op, specs);
    return make_gradient_by_steps(op, specs, make_product);
  });
}

}  // namespace mirrortrain::cuda
