#include "kernels/cuda/custom_kernels.h"
#include "kernels/cuda/recurrent_gradient_cells.h"
#include "kernels/cuda/recurrent_steps.h"

namespace mirrortrain::cuda {
namespace {

template <Cell kCell, class T>
__global__ void __launch_bounds__(kBlock) recurrent_gradient(RecurrenceBack<T> layer, const float* turned) {
  __shared__ float tile[kBlock];
  const RecurrentShape& s = layer.s;
  const std::int64_t columns = s.gates * s.units;
  for (std::int64_t first = blockIdx.x * kRecurrentRows; first < s.rows; first += gridDim.x * kRecurrentRows) {
    const BlockOfRows rows{s, first, tile};
    for (std::int64_t step = s.steps - 1; step >= 0; --step) {
      rows.each_unit([&](std::int64_t unit, bool exists) {
        for (int r = 0; exists && r < kRecurrentRows; ++r) {
          if (rows.has(r)) layer.template step<kCell>(first + r, step, unit);
        }
      });
      const auto add_product = [&](float(&sums)[kRecurrentRows][1], int gate, int gates, std::int64_t unit,
                                   bool exists) {
        rows.add_product(sums, gates * s.units, {layer.gates + gate * s.units, columns},
                         {turned + gate * s.units * s.units + unit, s.units, 0}, exists);
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
          if (rows.has(r)) layer.add_to_state(first + r, step, unit, sums[r][0]);
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

}  // namespace

std::unique_ptr<Kernel> make_recurrent_gradient(const ops::RecurrentGradient& op, const KernelSpecs& specs) {
  const RecurrentShape s(op, specs.inputs[1].shape);
  const std::int64_t columns = s.gates * s.units, floats_of_kernel = s.units * columns;
  return for_float_type(op, specs.inputs[1].dtype, [&]<class T>(T) {
    const auto body = [=](Stream& stream, const KernelArgs& args) {
      Floats floats{reinterpret_cast<float*>(args.workspace)};
      const auto layer = recurrence_back<T>(s, args, floats);
      float* const turned = floats.take(floats_of_kernel);
      launch(stream, blocks_for(floats_of_kernel), kBlock, 0, transpose_kernel, s.units, columns, input<float>(args, 0),
             turned);
      with_cell(s.op.cell, [&]<Cell kCell>(std::integral_constant<Cell, kCell>) {
        launch(stream, blocks_for(s.rows, kRecurrentRows), kBlock, 0, recurrent_gradient<kCell, T>, layer, turned);
      });
    };
    return stream_kernel(body, static_cast<std::size_t>(recurrence_back_floats(s) + floats_of_kernel) * sizeof(float));
  });
}

void add_recurrent_gradient_kernels(KernelRegistry& registry) {
  registry.add<ops::RecurrentGradient>(make_recurrent_gradient);
}

}  // namespace mirrortrain::cuda
