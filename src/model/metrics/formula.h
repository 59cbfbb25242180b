#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/section.h"
#include "graph/graph.h"
#include "model/losses.h"
#include "model/metrics/metric_node.h"

namespace mirrortrain::metrics {

/// What is done to a mean over all examples.
enum class Finish : std::uint8_t { kNone, kSqrt, kExp };

/// The mean of a formula of the output, `y_pred`, and the labels, `y_true`, over all its numbers and all examples.
struct Formula {
  static constexpr std::string_view kName = "formula";
  static constexpr auto kAdvice = std::to_array<config::Advice>(
      {{"rmse, root_mean_squared_error",
        "write - formula: {name: rmse, formula: \"square(y_true - y_pred)\", finish: sqrt}"},
       {"mape, mean_absolute_percentage_error",
        "write - formula: {name: mape, formula: \"100 * abs((y_true - y_pred) / maximum(abs(y_true), 1e-7))\"}"},
       {"smape",
        "write - formula: {name: smape, formula: \"200 * abs(y_true - y_pred) / maximum(abs(y_true) + abs(y_pred), "
        "1e-7)\"}"},
       {"msle, mean_squared_logarithmic_error",
        "write - formula: {name: msle, formula: \"square(log1p(maximum(y_true, 1e-7)) - log1p(maximum(y_pred, "
        "1e-7)))\"}"},
       {"rmsle",
        "write - formula: {name: rmsle, formula: \"square(log1p(maximum(y_true, 1e-7)) - log1p(maximum(y_pred, "
        "1e-7)))\", finish: sqrt}"},
       {"log_cosh",
        "write - formula: {name: log_cosh, formula: \"abs(y_true - y_pred) + softplus(-2 * abs(y_true - y_pred)) - "
        "log(2)\"}"},
       {"cosine_similarity",
        "write - formula: {name: cosine_similarity, formula: \"sum(y_true * y_pred, axis=-1) * "
        "rsqrt(sum(square(y_true), axis=-1) * sum(square(y_pred), axis=-1) + 1e-12)\"}"},
       {"poisson", "write - formula: {name: poisson, formula: \"y_pred - y_true * log(y_pred + 1e-7)\"}"},
       {"hinge", "write - formula: {name: hinge, formula: \"relu(1 - y_true * y_pred)\"}, for labels of -1 and 1"},
       {"squared_hinge",
        "write - formula: {name: squared_hinge, formula: \"square(relu(1 - y_true * y_pred))\"}, for labels of -1 and "
        "1"},
       {"binary_crossentropy",
        "write - formula: {name: binary_crossentropy, formula: \"-y_true * log(clip(y_pred, 1e-7, 1)) - (1 - y_true) * "
        "log(clip(1 - y_pred, 1e-7, 1))\"}, for outputs that are probabilities"}});
  std::string name, formula;
  Finish finish = Finish::kNone;

  /// Throws Error where the labels are class numbers.
  MetricNode node(const Loss& loss, const Shape& output) const;
  /// What the op reads: the formula's value, in the places of the output and of the labels. Throws Error for a mistake
  /// in the formula.
  std::vector<ValueId> inputs(Graph& graph, ValueId output, ValueId labels) const;

  static config::Section<Formula> section();
};

}  // namespace mirrortrain::metrics

template <>
struct mirrortrain::config::EnumNames<mirrortrain::metrics::Finish> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::metrics::Finish>>({
      {"none", mirrortrain::metrics::Finish::kNone},
      {"sqrt", mirrortrain::metrics::Finish::kSqrt},
      {"exp", mirrortrain::metrics::Finish::kExp},
  });
};
