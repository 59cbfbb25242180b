#include "graph/parts/class_parts.h"

#include <numeric>
#include <utility>

#include "graph/ops/arrange.h"
#include "graph/ops/collective.h"
#include "graph/ops/combine.h"
#include "graph/ops/constant.h"
#include "graph/ops/each.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/loss.h"
#include "graph/ops/metric.h"

namespace mirrortrain {
namespace {

using ops::PointwiseCode;
using ops::PointwiseFunction;
using Operand = PointwiseFunction::Operand;

/// Class numbers are compared as float32.
constexpr std::int64_t kMostClasses = 1 << 24;

/// The classes of a place.
class OwnClasses {
 public:
  /// `y`: their logits; `part`: which they are.
  OwnClasses(Graph& graph, ValueId y, const AxisPart& part, const ModelPlace& place)
      : graph_(graph), y_(y), part_(part), place_(place), of_position_(graph.spec(y).shape) {
    of_position_[of_position_.rank() - 1] = 1;
    // The second maximum ends the gradient, whose terms through the largest logit cancel each other.
    const ValueId own = ops::exchangeable(graph, graph.apply_one(ops::MaxTo(of_position_, false), {y}));
    std::vector<ValueId> all = graph.apply(ops::AllGather(ops::Axis::kModel, place.count, place.index), {own});
    const ValueId beside = graph.apply_one(ops::Concatenate(of_position_.rank() - 1), std::move(all));
    largest_ = graph.apply_one(ops::MaxTo(of_position_, false), {beside});
  }

  ValueId y() const { return y_; }
  ValueId largest() const { return largest_; }
  /// The numbers of the place's classes.
  ValueId numbers() {
    std::vector<float> numbers(static_cast<std::size_t>(part_.count));
    std::iota(numbers.begin(), numbers.end(), static_cast<float>(part_.first));
    return graph_.apply_one(ops::Constant({part_.count}, std::move(numbers)), {});
  }
  /// The labels, which are class numbers, one to a position.
  ValueId labels(ValueId labels) {
    labels = graph_.apply_one(ops::Reshape(of_position_), {labels});
    return graph_.apply_one(ops::Cast(DType::kFloat32), {labels});
  }
  /// A function of values that are broadcast to each other.
  template <class Function>
  ValueId each(std::vector<ValueId> values, const Function& of) {
    return ops::each(graph_, std::move(values), of);
  }
  /// The sum over all classes of all places, of each position.
  ValueId sum(ValueId of_classes) {
    return ops::sum_of_places(graph_, graph_.apply_one(ops::SumTo(of_position_, true), {of_classes}));
  }
  /// The logarithm of the softmax's denominator, relative to the largest logit.
  ValueId log_of_sum() {
    const ValueId exponentials = each({y_, largest_}, [](PointwiseFunction& f, const auto& v) {
      return f.apply(PointwiseCode::kExp, f.apply(PointwiseCode::kSubtract, v[0], v[1]));
    });
    return each({sum(exponentials)},
                [](PointwiseFunction& f, const auto& v) { return f.apply(PointwiseCode::kLog, v[0]); });
  }

 private:
  Graph& graph_;
  ValueId y_;
  AxisPart part_;
  ModelPlace place_;
  Shape of_position_;
  ValueId largest_ = kNoValue;
};

/// Of each position, given class numbers.
ValueId loss_of_labels(OwnClasses& classes, ValueId labels) {
  const ValueId own = classes.each({classes.y(), classes.largest(), classes.labels(labels), classes.numbers()},
                                   [](PointwiseFunction& f, const auto& v) {
                                     return f.apply(PointwiseCode::kWhere, f.apply(PointwiseCode::kEqual, v[2], v[3]),
                                                    f.apply(PointwiseCode::kSubtract, v[0], v[1]), f.constant(0));
                                   });
  return classes.each({classes.log_of_sum(), classes.sum(own)}, [](PointwiseFunction& f, const auto& v) {
    return f.apply(PointwiseCode::kSubtract, v[0], v[1]);
  });
}

/// Given the place's part of probabilities, of which `smoothing` is shared by `count` classes.
ValueId loss_of_probabilities(OwnClasses& classes, ValueId targets, float smoothing, std::int64_t count) {
  const ValueId logarithms = classes.each(
      {classes.y(), classes.largest(), classes.log_of_sum(), targets}, [&](PointwiseFunction& f, const auto& v) {
        const Operand relative = f.apply(PointwiseCode::kSubtract, v[0], v[1]);
        const Operand surprise = f.apply(PointwiseCode::kSubtract, v[2], relative);
        const Operand share = f.apply(PointwiseCode::kMultiplyAdd, v[3], f.constant(1 - smoothing),
                                      f.constant(smoothing / static_cast<float>(count)));
        return f.apply(PointwiseCode::kMultiply, share, surprise);
      });
  return classes.sum(logarithms);
}

/// How the classes are divided, or null where they are not, or where a place has but one: its logits would look like
/// the numbers of a position that are repeated for all classes, and have other gradients than several.
const Sharding* division_of_classes(const DividedNode& node) {
  const Shape& y = node.shape(0);
  if (!node.held[0].is_along(y.rank() - 1) || y.back() > kMostClasses) return nullptr;
  const AxisPart least = node.held[0].part(y, {node.places - 1, node.places});
  return least.count < 2 ? nullptr : &node.held[0];
}

/// What each place has a part of; `numbers`: elements of each position that are exchanged.
OpParts divided_classes(const DividedNode& node, const Sharding& division, std::int64_t numbers) {
  OpParts way;
  way.inputs.assign(node.node.inputs.size(), Sharding::whole());
  way.inputs[0] = division;
  way.outputs.assign(node.node.outputs.size(), Sharding::whole());
  way.summed = numbers * node.shape(0).elements() / node.shape(0).back();
  return way;
}

}  // namespace

std::vector<OpParts> loss_in_parts(const DividedNode& node) {
  const auto& loss = static_cast<const ops::Loss&>(*node.node.op);
  const Sharding* const division = division_of_classes(node);
  const bool of_labels = loss.kind == ops::LossKind::kSparseCategoricalCrossentropy;
  const bool is_known = of_labels || loss.kind == ops::LossKind::kCategoricalCrossentropy;
  if (division == nullptr || !is_known || !loss.from_logits) return {};
  OpParts way = divided_classes(node, *division, 3);
  if (!of_labels) way.inputs[1] = *division;
  way.outputs[1] = *division;
  way.lower = [of_labels, smoothing = loss.label_smoothing, shape = node.shape(0), division = *division](
                  Graph& graph, std::vector<ValueId> inputs, const ModelPlace& place) {
    OwnClasses classes(graph, inputs[0], division.part(shape, place), place);
    const ValueId of_position = of_labels ? loss_of_labels(classes, inputs[1])
                                          : loss_of_probabilities(classes, inputs[1], smoothing, shape.back());
    inputs[0] = inputs[1] = of_position;
    return graph.apply(ops::Loss(ops::LossKind::kOutput), std::move(inputs));
  };
  return {way};
}

std::vector<OpParts> metric_in_parts(const DividedNode& node) {
  const auto& metric = static_cast<const ops::Metric&>(*node.node.op);
  const Sharding* const division = division_of_classes(node);
  if (division == nullptr || metric.kind != ops::MetricKind::kSparseCategoricalAccuracy) return {};
  OpParts way = divided_classes(node, *division, 2);
  way.lower = [shape = node.shape(0), division = *division](Graph& graph, std::vector<ValueId> inputs,
                                                            const ModelPlace& place) {
    OwnClasses classes(graph, inputs[0], division.part(shape, place), place);
    // The label's output is the largest, and no class before it has the same: 1 for that one, and 2 for each other.
    const ValueId marks = classes.each({classes.y(), classes.largest(), classes.labels(inputs[1]), classes.numbers()},
                                       [](PointwiseFunction& f, const auto& v) {
                                         const Operand is_largest = f.apply(PointwiseCode::kEqual, v[0], v[1]);
                                         const Operand is_before = f.apply(PointwiseCode::kLess, v[3], v[2]);
                                         const Operand is_label = f.apply(PointwiseCode::kEqual, v[3], v[2]);
                                         const Operand mark =
                                             f.apply(PointwiseCode::kMultiplyAdd, is_before, f.constant(2), is_label);
                                         return f.apply(PointwiseCode::kMultiply, is_largest, mark);
                                       });
    const ValueId is_right = classes.each({classes.sum(marks)}, [](PointwiseFunction& f, const auto& v) {
      return f.apply(PointwiseCode::kEqual, v[0], f.constant(1));
    });
    inputs[0] = inputs[1] = is_right;
    return graph.apply(ops::Metric(ops::MetricKind::kOutput), std::move(inputs));
  };
  return {way};
}

}  // namespace mirrortrain
