#include "model/metrics/formula.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "config/names.h"
#include "config/scalar.h"
#include "graph/ops/elementwise.h"
#include "model/formula/expression.h"
#include "model/formula/formula_graph.h"

namespace mirrortrain::metrics {
namespace {

double finished(Finish finish, double mean) {
  switch (finish) {
    case Finish::kSqrt: return std::sqrt(mean);
    case Finish::kExp: return std::exp(mean);
    case Finish::kNone: break;
  }
  return mean;
}

std::string wrong_name(const Formula& metric) {
  const bool is_word = metric.name.find_first_not_of(config::kNameCharacters) == std::string::npos;
  if (metric.name.empty() || !is_word) {
    return fmt::format("expected a name of letters, digits and '_', found '{}'", config::shortened(metric.name));
  }
  if (metric.name == "loss") return "'loss' is the name of what is trained for; choose another name";
  return "";
}

}  // namespace

config::Section<Formula> Formula::section() {
  return config::Section<Formula>("A metric given as a formula: its mean over all of its numbers and all examples.")
      .key("name", &Formula::name, "The metric's name in events and files.", config::required)
      .key("formula", &Formula::formula,
           "The terms to average, in Python's syntax: `y_pred` is the output, `y_true` the labels. docs/formulas.md "
           "lists the functions.",
           config::required)
      .key("finish", &Formula::finish, "Formula applied to the mean.")
      .check("name", wrong_name)
      .check("formula", [](const Formula& metric) { return formula::syntax_mistake(metric.formula); });
}

MetricNode Formula::node(const Loss& loss, const Shape&) const {
  if (targets_of(loss) == Targets::kClassNumbers) {
    throw Error(
        "a formula compares numbers with the output, but the loss takes class numbers; use categorical_crossentropy "
        "with the preprocessing transform one_hot");
  }
  MetricNode node = mean_node(ops::Metric(ops::MetricKind::kOutput));
  node.value = [mean = std::move(node.value), how = finish](std::span<const double> sums, std::int64_t examples) {
    return finished(how, mean(sums, examples));
  };
  return node;
}

std::vector<ValueId> Formula::inputs(Graph& graph, ValueId output, ValueId labels) const {
  ValueId value = formula::add_formula(graph, formula, {{"y_pred", output}, {"y_true", labels}}, DType::kFloat32);
  if (graph.spec(value).shape.rank() == 0) value = graph.apply_one(ops::Reshape(Shape{1}), {value});
  return {value, value};
}

}  // namespace mirrortrain::metrics
