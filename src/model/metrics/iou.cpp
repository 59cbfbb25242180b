#include "model/metrics/iou.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include "base/error.h"
#include "graph/ops/counts.h"
#include "graph/ops/mask.h"
#include "model/formula/formula_graph.h"
#include "model/metrics/confusion.h"
#include "model/metrics/labels.h"

namespace mirrortrain::metrics {
namespace {

/// The mean of those of the listed classes that occur.
class MeanOfClasses {
 public:
  void add(double both, double predicted, double labels) {
    const double either = predicted + labels - both;
    sum_ += ratio(both, either);
    counted_ += either > 0 ? 1 : 0;
  }
  double value() const { return ratio(sum_, counted_); }

 private:
  double sum_ = 0, counted_ = 0;
};

std::string wrong_targets(const std::vector<std::int64_t>& ids, std::int64_t classes) {
  if (ids.empty()) return "expected at least one class";
  for (const std::int64_t id : ids) {
    if (id < 0 || id >= classes) return fmt::format("expected class numbers from 0 to {}, found {}", classes - 1, id);
  }
  return "";
}

constexpr std::string_view kClassesHelp = "The number of classes; null: the output's.";
constexpr std::string_view kTargetsHelp = "The classes whose mean it is.";

}  // namespace

config::Section<IouCommon> IouCommon::section() {
  return config::Section<IouCommon>("Options of intersection over union.")
      .key("ignore_class", &IouCommon::ignore_class,
           "A label whose positions are left out, which may be none of the classes: `-1`, `255`.",
           config::aliases("ignore_index, ignore_label"))
      .key("sparse_y_true", &IouCommon::sparse_y_true,
           "Whether labels are class numbers, which the loss says; null: whatever they are.")
      .key(
          "sparse_y_pred", &IouCommon::sparse_y_pred,
          "Whether the output is class numbers. It never is here: the largest of the last axis is the class predicted.")
      .check("sparse_y_pred",
             [](const IouCommon& options) -> std::string {
               return options.sparse_y_pred.value_or(false)
                          ? "the class with the largest output is predicted; remove it, or write false"
                          : "";
             })
      .include<losses::LastAxis>();
}

ValueId IouCommon::mask(Graph& graph, ValueId labels) const {
  if (!ignore_class) return kNoValue;
  if (graph.spec(labels).dtype == DType::kInt32) {
    return graph.apply_one(ops::LabelMask(static_cast<std::int32_t>(*ignore_class)), {labels});
  }
  const std::int64_t classes = graph.spec(labels).shape.back();
  if (*ignore_class < 0 || *ignore_class >= classes) return kNoValue;  // one-hot labels are of the classes alone
  return formula::add_formula(graph, fmt::format("y_true[..., {}] < max(y_true, axis=-1)", *ignore_class),
                              {{"y_true", labels}}, DType::kFloat32);
}

MetricNode IouCommon::of_classes(std::optional<std::int64_t> num_classes, const std::vector<std::int64_t>& targets,
                                 const Loss& loss, const Shape& output) const {
  if (output.back() == 1) {
    throw Error(
        "the class with the largest output is taken; expected an output of 2 or more classes, found 1; use "
        "binary_iou");
  }
  if (num_classes && *num_classes != output.back()) {
    throw Error(fmt::format("expected `num_classes` as the output has, {}, found {}", output.back(), *num_classes));
  }
  const bool is_sparse = targets_of(loss) == Targets::kClassNumbers;
  if (sparse_y_true && *sparse_y_true != is_sparse) {
    throw Error(fmt::format("the loss takes labels that are {}; write sparse_y_true: {}, or leave it out",
                            is_sparse ? "class numbers" : "of the output's shape", is_sparse));
  }
  const std::string wrong = targets.empty() ? "" : wrong_targets(targets, output.back());
  if (!wrong.empty()) throw Error("target_class_ids: " + wrong);
  const auto value = [targets](std::span<const double> sums, std::int64_t) {
    MeanOfClasses mean;
    for (std::size_t k = 0; k < sums.size() / 3; ++k) {
      const bool counts = targets.empty() || std::ranges::count(targets, static_cast<std::int64_t>(k)) > 0;
      if (counts) mean.add(sums[3 * k], sums[3 * k + 1], sums[3 * k + 2]);
    }
    return mean.value();
  };
  return {std::make_shared<ops::ClassCounts>(ops::Predicted::kFirst), false, value};
}

MetricNode Iou::node(const Loss& loss, const Shape& output) const {
  return of_classes(num_classes, target_class_ids, loss, output);
}

config::Section<Iou> Iou::section() {
  return config::Section<Iou>("Intersection over union: the mean of some classes.")
      .key("num_classes", &Iou::num_classes, kClassesHelp, config::at_least(2))
      .key("target_class_ids", &Iou::target_class_ids, kTargetsHelp, config::required, config::non_empty,
           config::at_least(0))
      .include<IouCommon>();
}

MetricNode MeanIou::node(const Loss& loss, const Shape& output) const {
  return of_classes(num_classes, {}, loss, output);
}

config::Section<MeanIou> MeanIou::section() {
  return config::Section<MeanIou>("Mean intersection over union of the classes.")
      .key("num_classes", &MeanIou::num_classes, kClassesHelp, config::at_least(2))
      .include<IouCommon>();
}

MetricNode OneHotIou::node(const Loss& loss, const Shape& output) const {
  require_numbers(kName, loss, "use iou");
  return of_classes(num_classes, target_class_ids, loss, output);
}

config::Section<OneHotIou> OneHotIou::section() {
  return config::Section<OneHotIou>("iou for one-hot labels.")
      .key("num_classes", &OneHotIou::num_classes, kClassesHelp, config::at_least(2))
      .key("target_class_ids", &OneHotIou::target_class_ids, kTargetsHelp, config::required, config::non_empty,
           config::at_least(0))
      .include<IouCommon>();
}

MetricNode OneHotMeanIou::node(const Loss& loss, const Shape& output) const {
  require_numbers(kName, loss, "use mean_iou");
  return of_classes(num_classes, {}, loss, output);
}

config::Section<OneHotMeanIou> OneHotMeanIou::section() {
  return config::Section<OneHotMeanIou>("mean_iou for one-hot labels.")
      .key("num_classes", &OneHotMeanIou::num_classes, kClassesHelp, config::at_least(2))
      .include<IouCommon>();
}

MetricNode BinaryIou::node(const Loss& loss, const Shape&) const {
  require_numbers(kName, loss, "use iou");
  // Keras counts an output that equals the threshold as above it.
  const float above = std::nextafter(threshold_for(loss, threshold), -std::numeric_limits<float>::infinity());
  const auto value = [targets = target_class_ids](std::span<const double> sums, std::int64_t) {
    MeanOfClasses mean;  // the sums: negative and positive labels below the threshold, then above it
    if (std::ranges::count(targets, 0) > 0) mean.add(sums[0], sums[0] + sums[2], sums[0] + sums[1]);
    if (std::ranges::count(targets, 1) > 0) mean.add(sums[3], sums[1] + sums[3], sums[2] + sums[3]);
    return mean.value();
  };
  return {std::make_shared<ops::BinCounts>(ops::Thresholds{above, above, 1}), true, value};
}

config::Section<BinaryIou> BinaryIou::section() {
  return config::Section<BinaryIou>("Intersection over union of outputs that are each true or false.")
      .key("target_class_ids", &BinaryIou::target_class_ids, "The classes whose mean it is: 0, 1 or both.",
           config::non_empty)
      .key("threshold", &BinaryIou::threshold,
           "A probability of at least this predicts class 1; null: 0.5, and 0 for the outputs of hinge losses.",
           config::between(0, 1))
      .check("target_class_ids", [](const BinaryIou& metric) { return wrong_targets(metric.target_class_ids, 2); });
}

}  // namespace mirrortrain::metrics
