#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/ops/collective.h"
#include "graph/sharding.h"
#include "kernels/scalar/weight_bounds.h"
#include "model/metrics/metric_node.h"
#include "model/variable_update.h"

namespace mirrortrain {

/// A constraint on a weight after each update: a bound of its norms along some axes, or of its elements.
struct WeightConstraint {
  scalar::WeightBound bound;
  std::vector<bool> axes;  ///< by axis: whether norms are taken along it; of a bound of elements none is
};

/// A weight that each training step divides by its largest singular value before the layers read it.
struct Spectrum {
  std::size_t vector = 0;  ///< the variable, in Model::variables, with the power iteration's vector
  int iterations = 1;
};

/// A variable of the model and its options.
struct ModelVariable {
  VariableSpec spec;
  /// Fills the canonical elements from a seed; the variable's name selects its random stream.
  std::function<void(std::span<float> elements, std::uint64_t seed)> initialize;
  /// Regularization: l1 sum|w| + l2 sum(w^2) is added to the loss.
  float l1 = 0, l2 = 0;
  VariableUpdate update;  ///< of a trainable one
  std::optional<WeightConstraint> constraint{};
  std::optional<Spectrum> spectrum{};
  Sharding sharding{};  ///< over the places of the axis `model`
  int data_parts = 1;   ///< how many flat parts of a place's elements those of the axis `data` have; see ops::flat_part
};

/// A value that a step writes to a variable after all its readers (moving statistics).
struct Assignment {
  std::size_t variable = 0;  ///< index in ModelGraph::variables
  ValueId value = kNoValue;
};

/// An embedding that looks up an input's numbers.
struct Lookup {
  std::string layer;      ///< the one that has the table
  std::int64_t rows = 0;  ///< of the table
  bool masks_zero = false;

  friend bool operator==(const Lookup&, const Lookup&) = default;
};

/// An input of the model in a graph.
struct ModelInput {
  ValueId value = kNoValue;  ///< input of the graph, batched, float32
  /// If layers use its numbers as table indices: they are whole numbers from 0 to one less than this.
  std::optional<std::int64_t> numbers_below{};
  bool pads_with_zero = false;  ///< the number 0 is padding, which a mask excludes
  bool averages_steps = false;  ///< except padding: sequences of only padding have no mean
  std::vector<Lookup> lookups{};
};

/// An output of the model in a graph, with what it is compared with and measured by.
struct ModelOutput {
  ValueId value = kNoValue;    ///< absent where several places train
  ValueId mask = kNoValue;     ///< of the output; absent: every position counts
  ValueId labels = kNoValue;   ///< input of the graph, batched; int32 for class numbers, else float32
  ValueId weights = kNoValue;  ///< input, batched [], float32: each example's loss weight; absent: all equal
  ValueId present = kNoValue;  ///< input, batched [], float32: 1 where there is a label, else 0; absent: all have one
  ValueId loss = kNoValue;     ///< float64 [], the sum over rows; [2] if the output has a mask, see ops::Loss
  std::vector<ValueId> metrics{};  ///< float64, sums over rows, in the order of OutputTraits::metrics

  /// Calls `visit` with the id of every value.
  template <class Visit>
  void for_each_value(const Visit& visit) {
    for (ValueId* const one : {&value, &mask, &labels, &weights, &present, &loss}) visit(*one);
    for (ValueId& metric : metrics) visit(metric);
  }
  friend bool operator==(const ModelOutput&, const ModelOutput&) = default;
};

/// The model as a graph: for training with gradients and dropout, for evaluation without.
struct ModelGraph {
  Graph graph;
  std::vector<ModelInput> inputs;    ///< in the order of Model::inputs
  std::vector<ModelOutput> outputs;  ///< in the order of Model::outputs
  std::vector<ValueId> variables;    ///< in the order of Model::variables
  std::vector<ValueId> gradients;    ///< training only: one per variable, kNoValue for a frozen one
  std::vector<Assignment> assignments;
  NodeId forward = 0;              ///< training only: how many nodes come before those of the gradients
  std::vector<ValueId> penalties;  ///< what layers add to each example's loss, batched [1]; while the graph is built
  ValueId penalty = kNoValue;      ///< float64 [], the sum of these over rows; absent without any

  /// What is read of it beside the variables, their gradients and what is assigned to them.
  std::vector<ValueId*> read_values() {
    std::vector<ValueId*> values;
    for (ModelInput& input : inputs) values.push_back(&input.value);
    for (ModelOutput& output : outputs) {
      output.for_each_value([&](ValueId& value) { values.push_back(&value); });
    }
    values.push_back(&penalty);
    return values;
  }
};

/// A model's graphs at one of several places that compute its layers together.
struct PlaceGraphs {
  ModelGraph training, evaluation;
};

/// The model for shorter sequences than its input's: the same values and nodes in other shapes, so that ids and
/// variables are shared with the full-length model.
struct ShorterGraphs {
  std::int64_t length = 0;  ///< time steps
  ModelGraph training, evaluation;
  std::vector<PlaceGraphs> other_places{};  ///< as the model's
};

struct LayerSummary {
  std::string name, type;
  Shape output_shape;
  std::int64_t parameters = 0;  ///< frozen and moving ones too
};

struct ModelMetric {
  std::string name;      ///< as reported: "accuracy", of one of several outputs "clicked_accuracy"
  std::size_t sums = 1;  ///< numbers from which its value is computed
  MetricValue value;
  bool is_formula = false;  ///< so that it is not known whether more or less is better
};

/// What is known of an output of the model in both of its graphs.
struct OutputTraits {
  std::string name;
  double loss_weight = 1;     ///< of its loss in the sum that is minimized
  std::size_t loss_sums = 1;  ///< numbers from which its loss is computed, see ModelOutput::loss
  std::vector<ModelMetric> metrics{};
  /// If the loss limits the labels: each is between 0 and this.
  std::optional<std::int64_t> largest_label{};
  /// The range of the last activation, if it is bounded.
  std::optional<std::pair<double, double>> range{};
};

/// The graph of a place, of a model or of its shorter graphs.
template <class Graphs>
const ModelGraph& graph_of(const Graphs& all, bool trains, int place) {
  if (place == 0) return trains ? all.training : all.evaluation;
  const PlaceGraphs& of = all.other_places[static_cast<std::size_t>(place - 1)];
  return trains ? of.training : of.evaluation;
}

struct Model {
  std::vector<ModelVariable> variables;
  std::vector<std::string> inputs;  ///< their names
  std::vector<OutputTraits> outputs;
  std::vector<LayerSummary> layers;
  ModelGraph training, evaluation;
  bool joins_examples = false;           ///< a loss, or its divisor, is made of sums over the global batch
  bool has_formulas = false;             ///< of layers or losses, whose logarithms and roots may be NaN
  std::vector<ShorterGraphs> shorter{};  ///< ascending; empty if all sequences are computed at full length
  /// If several places compute the layers together, the graphs of those after the first: the same values and nodes in
  /// other shapes.
  std::vector<PlaceGraphs> other_places{};

  int places() const { return 1 + static_cast<int>(other_places.size()); }
  /// The graph of one of the places.
  const ModelGraph& graph(bool trains, int place) const { return graph_of(*this, trains, place); }
  /// The same for sequences of one of the lengths of `shorter`; 0: at full length.
  const ModelGraph& graph(bool trains, int place, std::int64_t length) const {
    if (length == 0) return graph(trains, place);
    return graph_of(*std::ranges::find(shorter, length, &ShorterGraphs::length), trains, place);
  }
  /// The shape of a place's part of a variable, among those of the axis `model`.
  Shape part_shape(std::size_t variable, int place) const {
    const ModelVariable& of = variables[variable];
    return of.sharding.local(of.spec.shape, {place, places()});
  }

  /// The shape of what a place has of a variable, if those of the axis `data` divide it too.
  Shape local_shape(std::size_t variable, int place) const {
    const Shape part = part_shape(variable, place);
    const int parts = variables[variable].data_parts;
    return parts == 1 ? part : Shape{ops::flat_part(part.elements(), parts)};
  }

  /// Whether an output has a mask, so that loss and metrics exclude padding.
  bool is_masked() const;
  /// Numbers from which the losses of all outputs are computed, and then the sum of what layers add to them.
  std::size_t loss_sums() const;
  bool has_penalty() const { return training.penalty != kNoValue; }
  /// The same for the metrics of all outputs.
  std::size_t metric_sums() const;
  /// What events report beside the loss, in their order: for each of several outputs OUTPUT_loss, and its metrics.
  std::vector<std::string> score_names() const;
  /// slot_names() of each variable; none of a frozen one.
  std::vector<std::vector<std::string>> slot_names() const;
  /// A name for each: "accuracy", "recall[0]".
  std::vector<std::string> metric_sum_names() const;
};

}  // namespace mirrortrain
