#include "kernels/cuda/custom_kernels.h"
#include "kernels/cuda/recurrent_cells.h"
#include "kernels/cuda/recurrent_steps.h"

namespace mirrortrain::cuda {
namespace {

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
          if constexpr (kCell != Cell::kGruResetBefore) {
            layer.template step_from<kCell>(row, step, unit, sums[r]);
          } else if (!s.counts(layer.mask, row, step)) {
            // The second product must not read uninitialized values of the row.
            layer.cell[row * s.units + unit] = 0;
            layer.keep_state(row, step, unit);
          } else {
            // The update gate is stored temporarily in place of the new state.
            layer.state_at(row, step + 1)[unit] = layer.gru_gate(row, step, 0, unit, sums[r][0]);
            const float reset = layer.gru_gate(row, step, 1, unit, sums[r][1]);
            layer.cell[row * s.units + unit] = reset * layer.state_at(row, step)[unit];
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

}  // namespace

std::unique_ptr<Kernel> make_recurrent(const ops::Recurrent& op, const KernelSpecs& specs) {
  const RecurrentShape s(op, specs.outputs[0].shape);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    const auto body = [=](Stream& stream, const KernelArgs& args) {
      Floats floats{reinterpret_cast<float*>(args.workspace)};
      const auto layer = recurrence<T>(s, args, floats);
      with_cell(s.op.cell, [&]<Cell kCell>(std::integral_constant<Cell, kCell>) {
        launch(stream, blocks_for(s.rows, kRecurrentRows), kBlock, 0, recurrent<kCell, T>, layer);
      });
    };
    return stream_kernel(body, static_cast<std::size_t>(recurrence_floats(s)) * sizeof(float));
  });
}

void add_recurrent_kernels(KernelRegistry& registry) { registry.add<ops::Recurrent>(make_recurrent); }

}  // namespace mirrortrain::cuda
