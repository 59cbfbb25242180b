#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "kernels/scalar/update_traits.h"
#include "model/metrics/metric_node.h"

namespace mirrortrain {

/// What holds for a weight after each update: its norms along some axes are at most so large.
struct WeightConstraint {
  float max_norm = 0;
  std::vector<bool> axes;  ///< by axis: whether norms are taken along it
};

/// A variable of the model and what the model's description says of it.
struct ModelVariable {
  VariableSpec spec;
  /// Fills the canonical elements from a seed; the variable's name sets its random stream apart from the others'.
  std::function<void(std::span<float> elements, std::uint64_t seed)> initialize;
  /// Regularization: l1 sum|w| + l2 sum(w^2) is added to the loss.
  float l1 = 0, l2 = 0;
  scalar::UpdateTraits update;  ///< for a trainable one: what the optimizer's section says of it
  std::optional<WeightConstraint> constraint{};
};

/// A value that the step writes to a variable once every reader is done (moving statistics).
struct Assignment {
  std::size_t variable = 0;  ///< index in ModelGraph::variables
  ValueId value = kNoValue;
};

/// The model as a graph: for training with gradients and dropout, for evaluation without.
struct ModelGraph {
  Graph graph;
  ValueId features = kNoValue;  ///< input, batched, float32
  /// Where layers look the features up in tables: they are whole numbers from 0 to one less than this.
  std::optional<std::int64_t> numbers_below;
  bool pads_with_zero = false;  ///< the number 0 is padding, which a mask leaves out
  bool averages_steps = false;  ///< that are no padding: sequences of padding alone have no mean
  ValueId labels = kNoValue;    ///< input, batched; int32 for the sparse loss, else float32
  ValueId weights = kNoValue;   ///< input, batched [], float32: how much each example's loss counts; absent: all alike
  ValueId output = kNoValue;
  ValueId mask = kNoValue;  ///< that the output carries; absent: every step counts
  ValueId loss = kNoValue;  ///< float64 [], the sum over rows; [2] where the output carries a mask, as ops::Loss has it
  std::vector<ValueId> metrics;    ///< float64, sums over rows, in the order of Model::metrics
  std::vector<ValueId> variables;  ///< in the order of Model::variables
  std::vector<ValueId> gradients;  ///< training only: one per variable, kNoValue for a frozen one
  std::vector<Assignment> assignments;
};

/// The model at fewer steps than its input's sequences have: the same values and nodes in other shapes, so that ids and
/// variables are those of the whole.
struct ShorterGraphs {
  std::int64_t length = 0;  ///< steps
  ModelGraph training, evaluation;
};

struct LayerSummary {
  std::string name, type;
  Shape output_shape;
  std::int64_t parameters = 0;  ///< frozen and moving ones too
};

struct ModelMetric {
  std::string name;      ///< as reported: "accuracy"
  std::size_t sums = 1;  ///< numbers that its value comes of
  MetricValue value;
};

struct Model {
  std::vector<ModelVariable> variables;
  std::vector<ModelMetric> metrics;
  std::vector<LayerSummary> layers;
  /// Where the loss limits the labels: each lies between 0 and this.
  std::optional<std::int64_t> largest_label;
  /// What the last layer's activation can give, where it has bounds.
  std::optional<std::pair<double, double>> output_range;
  ModelGraph training, evaluation;
  std::vector<ShorterGraphs> shorter{};  ///< ascending; none where all sequences are computed whole

  /// Whether the output carries a mask, so that loss and metrics leave padding out.
  bool is_masked() const { return loss_sums() > 1; }
  /// Numbers that the loss comes of.
  std::size_t loss_sums() const;
  /// Of all metrics together.
  std::size_t metric_sums() const;
  /// A name for each: "accuracy", "recall[0]".
  std::vector<std::string> metric_sum_names() const;
};

}  // namespace mirrortrain
