#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/section.h"
#include "graph/graph.h"
#include "model/losses.h"
#include "model/losses/loss_common.h"
#include "model/metrics/metric_node.h"

namespace mirrortrain::metrics {

struct MeanSquaredError {
  static constexpr std::string_view kName = "mean_squared_error";
  static constexpr std::string_view kAliases = "mse, mse_loss, l2_loss, l2";
  static constexpr Compares kCompares = Compares::kNumbers;

  /// Throws Error where the labels are class numbers, which have no distance from an output.
  MetricNode node(const Loss& loss, const Shape& output) const;

  static config::Section<MeanSquaredError> section();
};

struct MeanAbsoluteError {
  static constexpr std::string_view kName = "mean_absolute_error";
  static constexpr std::string_view kAliases = "mae, l1_loss, l1";
  static constexpr Compares kCompares = Compares::kNumbers;

  /// Throws Error where the labels are class numbers, which have no distance from an output.
  MetricNode node(const Loss& loss, const Shape& output) const;

  static config::Section<MeanAbsoluteError> section();
};

/// The root of the mean over all examples, taken once.
struct RootMeanSquaredError {
  static constexpr std::string_view kName = "root_mean_squared_error";
  static constexpr std::string_view kAliases = "rmse";
  static constexpr Compares kCompares = Compares::kNumbers;

  /// Throws Error where the labels are class numbers, which have no distance from an output.
  MetricNode node(const Loss& loss, const Shape& output) const;

  static config::Section<RootMeanSquaredError> section();
};

/// The correlation of the numbers of an example, or of a position's, with its labels; the mean over all.
struct PearsonCorrelation : losses::LastAxis {
  static constexpr std::string_view kName = "pearson_correlation";
  static constexpr std::string_view kAliases = "pearson, pearson_corrcoef";
  static constexpr Compares kCompares = Compares::kNumbers;

  /// Throws Error where the labels are class numbers, and for an output of one number.
  MetricNode node(const Loss& loss, const Shape& output) const;
  std::vector<ValueId> inputs(Graph& graph, ValueId output, ValueId labels) const;

  static config::Section<PearsonCorrelation> section();
};

/// The same, but a difference of mean or spread lowers it.
struct ConcordanceCorrelation : losses::LastAxis {
  static constexpr std::string_view kName = "concordance_correlation";
  static constexpr std::string_view kAliases = "concordance, concordance_corrcoef, ccc";
  static constexpr Compares kCompares = Compares::kNumbers;

  /// Throws Error where the labels are class numbers, and for an output of one number.
  MetricNode node(const Loss& loss, const Shape& output) const;
  std::vector<ValueId> inputs(Graph& graph, ValueId output, ValueId labels) const;

  static config::Section<ConcordanceCorrelation> section();
};

}  // namespace mirrortrain::metrics
