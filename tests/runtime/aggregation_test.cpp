// What the ways to add gradients where a value feeds several layers come to: memory and numbers of whole models.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/cpu/registry.h"
#include "model/from_text.h"
#include "runtime/run_graph.h"

namespace mirrortrain {
namespace {

using testing::BoundRun;
using testing::GraphInputs;

constexpr AggregationMethod kMethods[] = {AggregationMethod::kAddN, AggregationMethod::kTree,
                                          AggregationMethod::kAccumulateN};

/// A trunk that feeds `branches` layers, which one layer adds. The trunk is what is wide: its gradient's terms are the
/// memory.
Built branched(int branches, const std::string& precision = "float32") {
  std::string text =
      "model:\n  input_shape: [6]\n  layers:\n    - dense: {units: 128, activation: tanh, name: trunk}\n";
  std::string names;
  for (int i = 0; i < branches; ++i) {
    text += fmt::format("    - dense: {{units: 16, activation: relu, name: branch_{}, inputs: [trunk]}}\n", i);
    names += fmt::format("{}branch_{}", i == 0 ? "" : ", ", i);
  }
  text += "    - add: {inputs: [" + names + "]}\n    - dense: {units: 3, name: head}\n";
  return build_from(text + "loss: mean_squared_error\nprecision: " + precision + "\n");
}

ModelGraph training_graph(const Built& built, AggregationMethod method) {
  const Description& d = built.description;
  config::Errors errors;
  Model model = build_described(d.model, d.loss, d.metrics, d.precision, errors, method);
  REQUIRE(errors.empty());
  return std::move(model.training);
}

/// The loss first, then the gradients.
std::vector<ValueId> outputs_of(const ModelGraph& made) {
  std::vector<ValueId> outputs{made.outputs[0].loss};
  outputs.insert(outputs.end(), made.gradients.begin(), made.gradients.end());
  return outputs;
}

std::size_t arena_bytes(const Built& built, AggregationMethod method, std::int64_t rows) {
  const ModelGraph made = training_graph(built, method);
  return Program(made.graph, rows, outputs_of(made), cpu::kernel_registry(), 1).arena_bytes();
}

/// The branched model in double, from its inputs and variables in the graph's order.
double reference_loss(int branches, const std::vector<std::vector<double>>& variables,
                      const std::vector<double>& features, const std::vector<double>& labels, std::int64_t rows) {
  using Row = std::vector<double>;
  const auto dense = [](const Row& x, const std::vector<double>& kernel, const std::vector<double>& bias) {
    Row y = bias;
    for (std::size_t in = 0; in < x.size(); ++in) {
      for (std::size_t out = 0; out < y.size(); ++out) y[out] += x[in] * kernel[in * y.size() + out];
    }
    return y;
  };
  double loss = 0;
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
    Row trunk = dense(Row(features.begin() + row * 6, features.begin() + (row + 1) * 6), variables[0], variables[1]);
    for (double& element : trunk) element = std::tanh(element);
    Row sum(16, 0.0);
    std::size_t next = 2;
    for (int branch = 0; branch < branches; ++branch, next += 2) {
      const Row made = dense(trunk, variables[next], variables[next + 1]);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += std::max(0.0, made[i]);
    }
    const Row y = dense(sum, variables[next], variables[next + 1]);
    for (std::size_t i = 0; i < y.size(); ++i) loss += std::pow(y[i] - labels[row * 3 + i], 2) / 3;
  }
  return loss / static_cast<double>(rows);
}

std::vector<double> in_double(std::span<const float> floats) { return {floats.begin(), floats.end()}; }

TEST_CASE("accumulate_n needs less memory than tree, and tree less than add_n") {
  for (const std::string precision : {"float32", "mixed_bfloat16"}) {
    const Built built = branched(8, precision);
    REQUIRE(built.errors == "");
    for (const std::int64_t rows : {64, 256}) {
      CAPTURE(precision);
      CAPTURE(rows);
      const std::size_t add_n = arena_bytes(built, AggregationMethod::kAddN, rows);
      const std::size_t tree = arena_bytes(built, AggregationMethod::kTree, rows);
      const std::size_t accumulate_n = arena_bytes(built, AggregationMethod::kAccumulateN, rows);
      CHECK(accumulate_n < tree);
      CHECK(tree < add_n);
      // 8, 4 and 2 terms are alive together.
      const std::size_t term = static_cast<std::size_t>(rows) * 128 * (precision == "float32" ? 4 : 2);
      CHECK(add_n - tree >= 3 * term);
      CHECK(tree - accumulate_n >= term);
    }
  }
}

TEST_CASE("every method gives the gradients that finite differences in double give") {
  constexpr std::int64_t kRows = 5;
  for (const int branches : {2, 3, 5, 8}) {
    const Built built = branched(branches);
    REQUIRE(built.errors == "");
    for (const AggregationMethod method : kMethods) {
      CAPTURE(branches);
      CAPTURE(static_cast<int>(method));
      const ModelGraph made = training_graph(built, method);
      const std::vector<ValueId> outputs = outputs_of(made);
      const Program program(made.graph, kRows, outputs, cpu::kernel_registry(), 1);
      const GraphInputs inputs(made.graph, kRows);
      BoundRun run(made.graph, program, outputs, inputs);
      run.bound->enqueue(run.stream);
      CHECK(run.outputs() == testing::interpret(made.graph, outputs, cpu::kernel_registry(), inputs));

      std::vector<std::vector<double>> variables;
      for (const ValueId variable : made.variables) variables.push_back(in_double(inputs.floats(variable)));
      const std::vector<double> features = in_double(inputs.floats(made.inputs[0].value));
      const std::vector<double> labels = in_double(inputs.floats(made.outputs[0].labels));
      const auto loss = [&] { return reference_loss(branches, variables, features, labels, kRows); };
      for (std::size_t v = 0; v < variables.size(); ++v) {
        const std::span<const float> found = run.floats(1 + v);
        for (std::size_t i = 0; i < variables[v].size(); i += 1 + variables[v].size() / 20) {
          constexpr double kStep = 1e-6;
          double& element = variables[v][i];
          const double kept = element;
          element = kept + kStep;
          const double above = loss();
          element = kept - kStep;
          const double below = loss();
          element = kept;
          const double expected = (above - below) / (2 * kStep);
          CHECK(found[i] == doctest::Approx(expected).epsilon(1e-4));
        }
      }
    }
  }
}

TEST_CASE("the methods differ by rounding alone") {
  constexpr std::int64_t kRows = 64;
  const Built built = branched(8);
  REQUIRE(built.errors == "");
  std::vector<std::vector<float>> found[3];
  for (std::size_t m = 0; m < 3; ++m) {
    const ModelGraph made = training_graph(built, kMethods[m]);
    const std::vector<ValueId> outputs = outputs_of(made);
    const Program program(made.graph, kRows, outputs, cpu::kernel_registry(), 1);
    const GraphInputs inputs(made.graph, kRows);
    BoundRun run(made.graph, program, outputs, inputs);
    run.bound->enqueue(run.stream);
    for (std::size_t i = 1; i < outputs.size(); ++i) found[m].emplace_back(run.floats(i).begin(), run.floats(i).end());
  }
  for (std::size_t m = 1; m < 3; ++m) {
    CHECK(found[m] != found[0]);
    for (std::size_t v = 0; v < found[0].size(); ++v) {
      double difference = 0, size = 0;
      for (std::size_t i = 0; i < found[0][v].size(); ++i) {
        difference = std::max(difference, std::abs(double{found[m][v][i]} - double{found[0][v][i]}));
        size = std::max(size, std::abs(double{found[0][v][i]}));
      }
      CHECK(difference <= 2e-6 * size);
    }
  }
}

}  // namespace
}  // namespace mirrortrain
