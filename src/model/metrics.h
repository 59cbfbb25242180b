#pragma once

#include <array>
#include <string_view>
#include <variant>
#include <vector>

#include "config/one_of.h"
#include "model/metrics/accuracy.h"
#include "model/metrics/auc.h"
#include "model/metrics/confusion.h"
#include "model/metrics/f_score.h"
#include "model/metrics/formula.h"
#include "model/metrics/iou.h"
#include "model/metrics/mean_errors.h"
#include "model/metrics/of_losses.h"
#include "model/metrics/r2_score.h"
#include "model/metrics/thresholds.h"

namespace mirrortrain {

/// The list of metrics. To add one: a file in model/metrics, a line here, and its name in metrics/lower_is_better.h if
/// more is better.
struct Metrics
    : config::Types<
          metrics::Accuracy, metrics::BinaryAccuracy, metrics::CategoricalAccuracy, metrics::SparseCategoricalAccuracy,
          metrics::TopKAccuracy, metrics::TopKCategoricalAccuracy, metrics::SparseTopKCategoricalAccuracy,
          metrics::MeanSquaredError, metrics::RootMeanSquaredError, metrics::MeanAbsoluteError,
          metrics::MeanAbsolutePercentageError, metrics::MeanSquaredLogarithmicError, metrics::LogCoshError,
          metrics::BinaryCrossentropy, metrics::CategoricalCrossentropy, metrics::SparseCategoricalCrossentropy,
          metrics::KlDivergence, metrics::Poisson, metrics::Hinge, metrics::SquaredHinge, metrics::CategoricalHinge,
          metrics::CosineSimilarity, metrics::R2Score, metrics::PearsonCorrelation, metrics::ConcordanceCorrelation,
          metrics::TruePositives, metrics::TrueNegatives, metrics::FalsePositives, metrics::FalseNegatives,
          metrics::Precision, metrics::Recall, metrics::PrecisionAtRecall, metrics::RecallAtPrecision,
          metrics::SensitivityAtSpecificity, metrics::SpecificityAtSensitivity, metrics::F1Score, metrics::FBetaScore,
          metrics::Auc, metrics::BinaryIou, metrics::Iou, metrics::MeanIou, metrics::OneHotIou, metrics::OneHotMeanIou,
          metrics::Formula> {};
struct Metric : config::OneOf<Metrics> {
  using OneOf::OneOf;
};

/// Throws Error if the metric does not match the loss or the output's shape.
MetricNode metric_node(const Metric& metric, const Loss& loss, const Shape& output);

/// What its op reads, by default the output and its labels. Throws Error where they do not fit.
std::vector<ValueId> metric_inputs(const Metric& metric, Graph& graph, ValueId output, ValueId labels);

/// The mask of the positions that it does not leave out by their labels; kNoValue: it counts all.
ValueId metric_mask(const Metric& metric, Graph& graph, ValueId labels);

/// In events and files; a type listed again is numbered.
std::string_view name_of(const Metric& metric);

/// Classes, unless it says otherwise.
Compares compared_by(const Metric& metric);

/// Whether it compares predicted classes, rather than numbers with a distance from the labels.
inline bool is_of_classes(const Metric& metric) { return compared_by(metric) == Compares::kClasses; }

}  // namespace mirrortrain

extern template class mirrortrain::config::OneOf<mirrortrain::Metrics>;

template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::Metric> {
  static constexpr std::string_view noun = "a metric";
  static constexpr auto advice = std::to_array<Advice>(
      {{"loss", "every run reports its loss; leave it out"},
       {"val_loss", "every run with data.validation reports its loss there; leave it out"},
       {"confusion_matrix", "eval and report.html show it of every model that predicts classes; leave it out"}});
};

extern template const mirrortrain::config::detail::Choice&
mirrortrain::config::detail::choice_of<mirrortrain::Metric>();
