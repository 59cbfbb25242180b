#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

#include "kernels/harness_parts.h"

namespace mirrortrain::testing {

namespace {

/// The values of a graph whose inputs are bound: runs every node's kernel in order.
class GraphRun {
 public:
  GraphRun(const Graph& graph, std::int64_t rows, int threads, const StepParams& step)
      : graph_(graph), rows_(rows), threads_(threads), step_(step), values_(graph.values().size()) {}
  void bind(ValueId id, Values values) { values_[static_cast<std::size_t>(id)] = std::move(values); }
  const Values& operator[](ValueId id) const { return values_[static_cast<std::size_t>(id)]; }

  void run() {
    for (const Node& node : graph_.nodes()) {
      if (node.op->is_alias()) {
        bind(node.outputs[0], {graph_.spec(node.outputs[0]).shape_at(rows_), (*this)[node.inputs[0]].data});
        continue;
      }
      Inputs inputs;
      for (const ValueId id : node.inputs) {
        if (id == kNoValue)
          inputs.push_back({ValueSpec{.shape = {0}}, Values{Shape{0}, {}, true}});
        else
          inputs.push_back({graph_.spec(id), (*this)[id]});
      }
      std::vector<Values> outputs = run_op(*node.op, inputs, rows_, threads_, step_);
      for (std::size_t i = 0; i < outputs.size(); ++i) bind(node.outputs[i], std::move(outputs[i]));
    }
  }

 private:
  const Graph& graph_;
  std::int64_t rows_;
  int threads_;
  StepParams step_;
  std::vector<Values> values_;
};

/// The number whose gradient is checked: output 0 weighted by its gradient, or the loss.
double objective(const Case& test, const std::vector<Values>& inputs, const Values& output_gradient) {
  const Values output = test.reference(inputs)[0];
  if (test.is_loss) return output[0] / static_cast<double>(test.step.global_examples);
  double sum = 0;
  for (std::int64_t i = 0; i < output.elements(); ++i) sum += output[i] * output_gradient[i];
  return sum;
}

/// The gradient of an input by central differences.
struct Differences {
  std::vector<std::int64_t> elements;  ///< up to 40, without those at a kink
  Values gradient;
};

Differences differences(const Case& test, std::vector<Values> inputs, std::size_t input,
                        const Values& output_gradient) {
  constexpr double kStep = 2e-5;
  Differences found;
  std::int64_t tried = 0;
  const std::int64_t elements = inputs[input].elements(), stride = elements / 40 + 1;
  const double middle = objective(test, inputs, output_gradient);
  for (std::int64_t i = 0; i < elements; i += stride, ++tried) {
    const double value = inputs[input][i];
    inputs[input][i] = value + kStep;
    const double right = (objective(test, inputs, output_gradient) - middle) / kStep;
    inputs[input][i] = value - kStep;
    const double left = (middle - objective(test, inputs, output_gradient)) / kStep;
    inputs[input][i] = value;
    if (std::abs(right - left) > 2e-3 * (1 + std::abs(right))) continue;  // a kink
    found.elements.push_back(i);
    found.gradient.data.push_back((right + left) / 2);
  }
  found.gradient.shape = {found.gradient.elements()};
  CHECK_MESSAGE(2 * found.gradient.elements() >= tried, test.name, ": too many elements at a kink");
  return found;
}

/// An op and its gradient() in a graph, with random numbers for the inputs and the gradient of output 0.
struct GradientCheck {
  const Case& test;
  std::vector<bool> wanted;
  std::int64_t rows;
  Graph graph;
  Inputs inputs;
  std::vector<ValueId> ids, gradients;
  ValueId output_gradient_id = kNoValue;
  Values output_gradient;
  std::vector<Differences> expected;

  GradientCheck(const Case& of, const std::vector<bool>& which, std::int64_t row_count)
      : test(of), wanted(which), rows(row_count), inputs(random_inputs(of.inputs, row_count)) {
    for (const auto& [spec, values] : inputs) ids.push_back(values.absent ? kNoValue : graph.input("x", spec));
    const std::vector<ValueId> outputs = graph.apply(test.op, ids);
    std::vector<ValueId> output_gradients(outputs.size(), kNoValue);
    if (!test.is_loss) {
      const ValueSpec spec = graph.spec(outputs[0]);
      output_gradient_id = output_gradients[0] = graph.input("gradient", spec);
      output_gradient = random_inputs({{spec, {}}}, rows, 2)[0].second;
    }
    const Node node = graph.nodes().back();
    gradients = test.op->gradient(graph, node, output_gradients, wanted);
    REQUIRE(gradients.size() == inputs.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      expected.push_back(is_checked(i) ? differences(test, values_of(inputs), i, output_gradient) : Differences{});
    }
  }

  bool is_checked(std::size_t i) const { return wanted[i] && ids[i] != kNoValue; }

  void run(int threads) const {
    GraphRun run(graph, rows, threads, test.step);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] != kNoValue) run.bind(ids[i], inputs[i].second);
    }
    if (!test.is_loss) run.bind(output_gradient_id, output_gradient);
    run.run();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (!is_checked(i)) continue;
      const std::string where =
          fmt::format("{}: gradient of input {} at {} rows, {} threads", test.name, i, rows, threads);
      REQUIRE_MESSAGE(gradients[i] != kNoValue, where, ": none");
      CHECK_MESSAGE(graph.spec(gradients[i]) == graph.spec(ids[i]), where, ": its spec is not the input's");
      Values picked{expected[i].gradient.shape, {}};
      for (const std::int64_t element : expected[i].elements) picked.data.push_back(run[gradients[i]][element]);
      compare(picked, expected[i].gradient, 5 * default_tolerance(test), where);
    }
  }
};

}  // namespace

void check_gradient(const Case& test, const std::vector<bool>& wanted) {
  for (const std::int64_t rows : test.rows) {
    const GradientCheck check(test, wanted, rows);
    for (const int threads : threads_of(test)) check.run(threads);
  }
}

}  // namespace mirrortrain::testing
