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
  static constexpr Compares kCompares = Compares::kNumbers;
  static constexpr auto kAdvice = std::to_array<config::Advice>(
      {{"smape",
        "write - formula: {name: smape, formula: \"200 * abs(y_true - y_pred) / maximum(abs(y_true) + abs(y_pred), "
        "1e-7)\"}"},
       {"rmsle",
        "write - formula: {name: rmsle, formula: \"square(log1p(maximum(y_true, 1e-7)) - log1p(maximum(y_pred, "
        "1e-7)))\", finish: sqrt}"}});
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
