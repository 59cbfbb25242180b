#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "config/section.h"
#include "graph/graph.h"
#include "model/losses.h"
#include "model/losses/loss_common.h"
#include "model/metrics/metric_node.h"

// Losses as metrics: the mean over examples, and over the positions that a mask counts, of what the loss is for each.
namespace mirrortrain::metrics {

/// A loss without options; its kMetric is the metric's name where that is another.
template <class Of>
struct MeanOf {
  static constexpr std::string_view name() {
    if constexpr (requires { Of::kMetric; }) return Of::kMetric;
    return Of::kName;
  }
  static constexpr std::string_view aliases() {
    if constexpr (requires { Of::kAliases; }) {
      return Of::kAliases;
    } else if constexpr (requires { Of::kMetric; }) {
      return Of::kName;
    } else {
      return {};
    }
  }
  static constexpr std::string_view kName = name(), kAliases = aliases();
  static constexpr Compares kCompares = Of::kTargets == Targets::kNumbers ? Compares::kNumbers : Compares::kAsItsLoss;

  /// Throws Error where the labels are class numbers.
  MetricNode node(const Loss& loss, const Shape& output) const;
  std::vector<ValueId> inputs(Graph& graph, ValueId output, ValueId labels) const {
    return loss_inputs(Of{}, graph, output, labels, kNoValue);
  }

  static config::Section<MeanOf> section();
};

using MeanAbsolutePercentageError = MeanOf<losses::MeanAbsolutePercentageError>;
using MeanSquaredLogarithmicError = MeanOf<losses::MeanSquaredLogarithmicError>;
using LogCoshError = MeanOf<losses::LogCosh>;
using KlDivergence = MeanOf<losses::KlDivergence>;
using Poisson = MeanOf<losses::Poisson>;
using Hinge = MeanOf<losses::Hinge>;
using SquaredHinge = MeanOf<losses::SquaredHinge>;
using CategoricalHinge = MeanOf<losses::CategoricalHinge>;

/// The cosine itself, while the loss is minus the cosine.
struct CosineSimilarity : losses::LastAxis {
  static constexpr std::string_view kName = "cosine_similarity";
  static constexpr Compares kCompares = Compares::kNumbers;

  /// Throws Error where the labels are class numbers.
  MetricNode node(const Loss& loss, const Shape& output) const;
  static config::Section<CosineSimilarity> section();
};

/// What crossentropies have in common.
struct Crossentropy {
  static constexpr Compares kCompares = Compares::kAsItsLoss;
  std::optional<bool> from_logits;  ///< none: as the loss says
};

struct BinaryCrossentropy : Crossentropy {
  static constexpr std::string_view kName = "binary_crossentropy";
  static constexpr std::string_view kAliases = "bce, bce_loss, bce_with_logits_loss, log_loss";
  double label_smoothing = 0;

  /// Throws Error where the labels are class numbers.
  MetricNode node(const Loss& loss, const Shape& output) const;
  static config::Section<BinaryCrossentropy> section();
};

struct CategoricalCrossentropy : Crossentropy, losses::LastAxis {
  static constexpr std::string_view kName = "categorical_crossentropy";
  double label_smoothing = 0;

  /// Throws Error where the labels are class numbers.
  MetricNode node(const Loss& loss, const Shape& output) const;
  static config::Section<CategoricalCrossentropy> section();
};

struct SparseCategoricalCrossentropy : Crossentropy, losses::LastAxis {
  static constexpr std::string_view kName = "sparse_categorical_crossentropy";
  static constexpr std::string_view kAliases = "crossentropy, cross_entropy_loss, ce, nll";
  std::optional<std::int64_t> ignore_class;

  /// Throws Error unless the labels are class numbers.
  MetricNode node(const Loss& loss, const Shape& output) const;
  ValueId mask(Graph& graph, ValueId labels) const;
  static config::Section<SparseCategoricalCrossentropy> section();
};

}  // namespace mirrortrain::metrics
