#include "graph/ops/ctc.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "kernels/harness.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;

namespace {

struct Sizes {
  std::int64_t steps, classes, length;
};

/// Whether a path gives the label: without repetitions, then without blanks.
bool gives(const std::vector<std::int64_t>& path, const std::vector<std::int64_t>& label) {
  std::vector<std::int64_t> symbols;
  for (std::size_t t = 0; t < path.size(); ++t) {
    if (path[t] != 0 && (t == 0 || path[t] != path[t - 1])) symbols.push_back(path[t]);
  }
  return symbols == label;
}

/// The probability of every path that gives the label, one by one.
std::vector<Values> by_paths(const std::vector<Values>& inputs, const Sizes& s) {
  const Values &logits = inputs[0], &labels = inputs[1];
  Values loss = filled({logits.rows(), 1}), gradient = logits;
  const auto paths = static_cast<std::int64_t>(std::pow(s.classes, s.steps));
  for (std::int64_t row = 0; row < logits.rows(); ++row) {
    std::vector<std::int64_t> label;
    for (std::int64_t i = 0; i < s.length; ++i) {
      const auto symbol = static_cast<std::int64_t>(labels[row * s.length + i]);
      if (symbol != 0) label.push_back(symbol);
    }
    const auto at = [&](std::int64_t t, std::int64_t c) { return (row * s.steps + t) * s.classes + c; };
    Values share = filled({s.steps, s.classes}), probability = share;
    for (std::int64_t t = 0; t < s.steps; ++t) {
      double sum = 0;
      for (std::int64_t c = 0; c < s.classes; ++c) sum += std::exp(logits[at(t, c)]);
      for (std::int64_t c = 0; c < s.classes; ++c) probability[t * s.classes + c] = std::exp(logits[at(t, c)]) / sum;
    }
    double total = 0;
    for (std::int64_t number = 0; number < paths; ++number) {
      std::vector<std::int64_t> path;
      for (std::int64_t t = 0, rest = number; t < s.steps; ++t, rest /= s.classes) path.push_back(rest % s.classes);
      if (!gives(path, label)) continue;
      double product = 1;
      for (std::int64_t t = 0; t < s.steps; ++t)
        product *= probability[t * s.classes + path[static_cast<std::size_t>(t)]];
      total += product;
      for (std::int64_t t = 0; t < s.steps; ++t) share[t * s.classes + path[static_cast<std::size_t>(t)]] += product;
    }
    loss[row] = -std::log(total);
    for (std::int64_t i = 0; i < s.steps * s.classes; ++i) {
      gradient[row * s.steps * s.classes + i] = total == 0 ? 0 : probability[i] - share[i] / total;
    }
  }
  return {loss, gradient};
}

/// Labels of any length that fits, with repeated symbols.
Operand labels_of(const Sizes& s) {
  return batched(DType::kInt32, {s.length}, [s](std::int64_t i, double uniform) {
    const std::int64_t row = i / s.length, place = i % s.length;
    if (place >= row % (s.length + 1)) return 0.0;
    return row % 2 == 0 ? 1.0 : 1 + std::floor((uniform + 1) / 2 * static_cast<double>(s.classes - 1));
  });
}

}  // namespace

TEST_CASE("the loss is that of all paths that give the label, with its gradient") {
  for (const Sizes& s : {Sizes{1, 2, 1}, Sizes{4, 3, 2}, Sizes{6, 3, 3}, Sizes{5, 4, 3}}) {
    const Case test{.name = fmt::format("{} steps, {} classes, labels of {}", s.steps, s.classes, s.length),
                    .op = std::make_shared<ops::Ctc>(),
                    .inputs = {batched(DType::kFloat32, {s.steps, s.classes},
                                       [](std::int64_t, double uniform) { return 3 * uniform; }),
                               labels_of(s)},
                    .reference = [s](const std::vector<Values>& inputs) { return by_paths(inputs, s); },
                    .rows = {7, 1, 0}};
    check_forward(test);
    check_gradient(test, {true, false});
  }
}

TEST_CASE("a label that needs more steps has an infinite loss and no gradient") {
  const ValueSpec labels{DType::kInt32, {2}, true};
  const Values of_twice = filled({1, 2}, 1);
  for (const auto& [steps, is_possible] : {std::pair(std::int64_t{3}, true), {2, false}}) {
    const ValueSpec spec{DType::kFloat32, {steps, 3}, true};
    const std::vector<Values> found = run_op(ops::Ctc(), {{spec, filled({1, steps, 3}, 0.5)}, {labels, of_twice}}, 1);
    CHECK(std::isinf(found[0][0]) != is_possible);
    for (std::int64_t i = 0; i < steps * 3; ++i) CHECK((found[1][i] != 0) == is_possible);
  }
}

TEST_CASE("logits far apart and long sequences stay finite") {
  constexpr std::int64_t kSteps = 400, kLength = 90;
  const ValueSpec logits{DType::kFloat32, {kSteps, 3}, true}, labels{DType::kInt32, {kLength}, true};
  Values numbers = filled({1, kSteps, 3}), symbols = filled({1, kLength});
  for (std::int64_t i = 0; i < numbers.elements(); ++i) numbers[i] = i % 7 == 0 ? 60 : -60;
  for (std::int64_t i = 0; i < kLength; ++i) symbols[i] = static_cast<double>(1 + i % 2);
  const std::vector<Values> found = run_op(ops::Ctc(), {{logits, numbers}, {labels, symbols}}, 1);
  CHECK(std::isfinite(found[0][0]));
  CHECK(found[0][0] > 0);
  for (std::int64_t t = 0; t < kSteps; ++t) {
    const double sum = found[1][3 * t] + found[1][3 * t + 1] + found[1][3 * t + 2];
    CHECK(std::abs(sum) < 1e-5);
  }
}
