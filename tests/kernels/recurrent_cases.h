#pragma once

#include <fmt/format.h>

#include <cmath>

#include "graph/ops/recurrent.h"
#include "kernels/harness.h"

namespace mirrortrain::testing {

/// A recurrent layer written plainly, unit by unit.
struct PlainRecurrence {
  ops::RecurrentAttributes op;
  std::int64_t steps, units;

  double activate(double x) const {
    return op.activation == ops::ActivationKind::kTanh ? std::tanh(x) : x / (1 + std::abs(x));
  }
  static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

  /// The states and what is saved, from the input's product, the recurrent kernel and the recurrent bias.
  std::vector<Values> operator()(const std::vector<Values>& inputs) const {
    const Values &x = inputs[0], &kernel = inputs[1];
    const std::int64_t rows = x.rows(), gates = op.gates();
    Values states = filled({rows, steps, units}), saved = filled({rows, steps, op.saved() * units});
    for (std::int64_t row = 0; row < rows; ++row) {
      std::vector<double> state(static_cast<std::size_t>(units)), cell(state);
      for (std::int64_t step = 0; step < steps; ++step) {
        const std::int64_t read = op.backwards ? steps - 1 - step : step;
        if (inputs.size() > 3 && inputs[3][row * steps + read] == 0) {
          for (std::int64_t unit = 0; unit < units; ++unit) {
            const auto u = static_cast<std::size_t>(unit);
            states[(row * steps + step) * units + unit] = state[u];
            if (op.cell == ops::Cell::kLstm) saved[((row * steps + step) * op.saved() + 4) * units + unit] = cell[u];
          }
          continue;
        }
        const auto at = [&](std::int64_t gate, std::int64_t unit) { return gate * units + unit; };
        const auto from_input = [&](std::int64_t gate, std::int64_t unit) {
          return x[(row * steps + read) * gates * units + at(gate, unit)];
        };
        const auto from_state = [&](const std::vector<double>& from, std::int64_t gate, std::int64_t unit) {
          double sum = inputs.size() > 2 && !inputs[2].absent ? inputs[2][at(gate, unit)] : 0;
          for (std::int64_t k = 0; k < units; ++k) {
            sum += from[static_cast<std::size_t>(k)] * kernel[k * gates * units + at(gate, unit)];
          }
          return sum;
        };
        const auto save = [&](std::int64_t number, std::int64_t unit, double value) {
          saved[((row * steps + step) * op.saved() + number) * units + unit] = value;
        };
        std::vector<double> next(state), reset(state), update(state);
        if (op.cell == ops::Cell::kSimple) {
          for (std::int64_t unit = 0; unit < units; ++unit) {
            next[static_cast<std::size_t>(unit)] = activate(from_input(0, unit) + from_state(state, 0, unit));
            save(0, unit, next[static_cast<std::size_t>(unit)]);
          }
        }
        for (std::int64_t unit = 0; op.cell != ops::Cell::kSimple && unit < units; ++unit) {
          const auto u = static_cast<std::size_t>(unit);
          double gate[4];
          for (std::int64_t k = 0; k < (op.cell == ops::Cell::kLstm ? 4 : 2); ++k) {
            const double sum = from_input(k, unit) + from_state(state, k, unit);
            gate[k] = op.cell == ops::Cell::kLstm && k == 2 ? activate(sum) : sigmoid(sum);
            save(k, unit, gate[k]);
          }
          if (op.cell == ops::Cell::kLstm) {
            cell[u] = gate[1] * cell[u] + gate[0] * gate[2];
            save(4, unit, cell[u]);
            next[u] = gate[3] * activate(cell[u]);
          }
          update[u] = gate[0];
          reset[u] = gate[1];
        }
        std::vector<double> left(state);
        for (std::size_t u = 0; u < left.size(); ++u) left[u] *= reset[u];
        for (std::int64_t unit = 0; !op.adds_products() && unit < units; ++unit) {
          const auto u = static_cast<std::size_t>(unit);
          const bool after = op.cell == ops::Cell::kGru;
          const double inner = from_state(after ? state : left, 2, unit);
          if (after) save(3, unit, inner);
          const double candidate = activate(from_input(2, unit) + (after ? reset[u] * inner : inner));
          save(2, unit, candidate);
          next[u] = update[u] * state[u] + (1 - update[u]) * candidate;
        }
        state = next;
        for (std::int64_t unit = 0; unit < units; ++unit) {
          states[(row * steps + step) * units + unit] = state[static_cast<std::size_t>(unit)];
        }
      }
    }
    return {states, saved};
  }
};

inline Case recurrent_case(DType dtype, const ops::RecurrentAttributes& op, std::int64_t steps, std::int64_t units,
                           bool with_bias) {
  const std::int64_t columns = op.gates() * units;
  return {
      .name = fmt::format("{} cell {}, {} steps, {} units{}{}", name_of(dtype), static_cast<int>(op.cell), steps, units,
                          op.backwards ? ", backwards" : "", with_bias ? ", recurrent bias" : ""),
      .op = std::make_shared<ops::Recurrent>(op),
      .inputs = {batched(dtype, {steps, columns}), fixed({units, columns}), with_bias ? fixed({columns}) : absent()},
      .reference = PlainRecurrence{op, steps, units},
      .rows = {2, 7, 0},
      // A simple cell passes the rounding of its state on.
      .tolerance = dtype == DType::kFloat32        ? 5e-6
                   : op.cell == ops::Cell::kSimple ? 5e-2
                                                   : 2e-2};
}

/// The same with a mask: the first row has padding in front and behind, the second is padding alone.
inline Case masked_recurrent_case(DType dtype, const ops::RecurrentAttributes& op, std::int64_t steps,
                                  std::int64_t units, bool with_bias) {
  Case test = recurrent_case(dtype, op, steps, units, with_bias);
  test.name += ", masked";
  test.inputs.push_back(batched(DType::kFloat32, {steps}, [steps](std::int64_t i, double uniform) {
    const std::int64_t row = i / steps, step = i % steps;
    if (row == 0) return step > 0 && step + 1 < steps ? 1.0 : 0.0;
    return row == 1 || uniform < -0.3 ? 0.0 : 1.0;
  }));
  return test;
}

inline constexpr ops::Cell kCells[] = {ops::Cell::kLstm, ops::Cell::kGru, ops::Cell::kGruResetBefore,
                                       ops::Cell::kSimple};

}  // namespace mirrortrain::testing
