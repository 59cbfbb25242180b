#include "model/losses/composites.h"

#include <fmt/format.h>

#include "base/error.h"
#include "graph/ops/constant.h"
#include "graph/ops/elementwise.h"
#include "model/formula/formula_graph.h"

namespace mirrortrain::losses {

config::Section<MeanAbsolutePercentageError> MeanAbsolutePercentageError::section() {
  return config::Section<MeanAbsolutePercentageError>(
             "Mean absolute percentage error: 100 times the mean of |(label - output) / label|.")
      .include<LossCommon>();
}

config::Section<MeanSquaredLogarithmicError> MeanSquaredLogarithmicError::section() {
  return config::Section<MeanSquaredLogarithmicError>(
             "Mean squared logarithmic error: the mean of (log(1 + output) - log(1 + label))^2; numbers below 0 count "
             "as 0.")
      .include<LossCommon>();
}

config::Section<SquaredHinge> SquaredHinge::section() {
  return config::Section<SquaredHinge>(
             "Squared hinge loss: the mean of max(1 - label * output, 0)^2, for labels -1 and 1; a label of 0 counts "
             "as -1.")
      .include<LossCommon>();
}

config::Section<CategoricalHinge> CategoricalHinge::section() {
  return config::Section<CategoricalHinge>(
             "Categorical hinge loss: max(1 + the largest output of another class - the output of the label's class, "
             "0), for one-hot labels.")
      .include<LossCommon>();
}

config::Section<CategoricalFocalCrossentropy> CategoricalFocalCrossentropy::section() {
  using Self = CategoricalFocalCrossentropy;
  return config::Section<Self>(
             "Crossentropy between classes and one-hot labels that gives less weight to examples that are classified "
             "well (Lin et al., 2017).")
      .key("alpha", &Self::alpha, "Factor of all classes, or a list of one for each, in the order of their numbers.",
           config::at_least(0), config::non_empty)
      .key("gamma", &Self::gamma, "Focusing parameter: the exponent of (1 - a class's probability).",
           config::at_least(0))
      .key("from_logits", &Self::from_logits, "Whether the model's output is logits rather than probabilities.")
      .key("label_smoothing", &Self::label_smoothing,
           "Label smoothing: 0 leaves the labels as they are, 1 makes all classes equally likely.",
           config::between(0, 1))
      .include(&Self::class_weight)
      .include<LastAxis>()
      .include<LossCommon>();
}

std::vector<ValueId> CategoricalFocalCrossentropy::inputs(Graph& graph, ValueId output, ValueId labels) const {
  constexpr DType kDtype = DType::kFloat32;
  const std::int64_t classes = graph.spec(output).shape.back();
  const ValueId probabilities = from_logits ? graph.apply_one(ops::Softmax(), {output}) : output;
  const ValueId p = formula::add_formula(graph, "clip(y / sum(y, axis=-1, keepdims=true), 1e-7, 1 - 1e-7)",
                                         {{"y", probabilities}}, kDtype);
  formula::Values values{{"p", p}, {"y_true", labels}};
  std::string factor = "alpha";
  if (const auto* const each = std::get_if<std::vector<double>>(&alpha)) {
    if (std::ssize(*each) != classes) {
      throw Error(fmt::format("alpha has {} number{}, and there are {} classes; give one number, or one for each class",
                              each->size(), each->size() == 1 ? "" : "s", classes));
    }
    std::vector<float> factors(each->begin(), each->end());
    values.emplace("alpha", graph.apply_one(ops::Constant({std::ssize(factors)}, factors), {}));
  } else {
    factor = fmt::format("{:.9g}", std::get<double>(alpha));
  }
  const std::string loss =
      fmt::format("sum(-{} * (1 - p) ** {:.9g} * ({:.9g} * y_true + {:.9g}) * log(p), axis=-1, keepdims=true)", factor,
                  gamma, 1 - label_smoothing, label_smoothing / static_cast<double>(classes));
  const ValueId value = formula::add_formula(graph, loss, values, kDtype);
  return {value, value};
}

}  // namespace mirrortrain::losses
