#include "model/metrics/of_losses.h"

#include <memory>
#include <type_traits>
#include <utility>

#include "graph/ops/mask.h"
#include "model/metrics/labels.h"

namespace mirrortrain::metrics {
namespace {

/// The mean of a loss's op, which has its mask after the weights.
MetricNode mean_of_op(const ops::Loss& op) {
  constexpr std::size_t kMask = 3;
  return {std::make_shared<ops::Loss>(op), false, mean_of, kMask};
}

ops::Loss with_logits(ops::Loss op, const Crossentropy& metric, const Loss& loss) {
  op.from_logits = metric.from_logits.value_or(takes_logits(loss));
  return op;
}

constexpr std::string_view kLogitsHelp =
    "Whether the output is logits rather than probabilities; null: as the loss takes it.";
constexpr std::string_view kSmoothingHelp =
    "Label smoothing: 0 leaves the labels as they are, 1 makes all classes equally likely.";
constexpr std::string_view kSparse = "use sparse_categorical_crossentropy";

}  // namespace

template <class Of>
MetricNode MeanOf<Of>::node(const Loss& loss, const Shape&) const {
  require_numbers(kName, loss, "use sparse_categorical_crossentropy, or accuracy");
  MetricNode node = mean_of_op(Of{}.op());
  node.reads_probabilities = std::is_same_v<Of, losses::KlDivergence>;
  return node;
}

template <class Of>
config::Section<MeanOf<Of>> MeanOf<Of>::section() {
  return config::Section<MeanOf>(Of::section().keys().help);
}

template struct MeanOf<losses::MeanAbsolutePercentageError>;
template struct MeanOf<losses::MeanSquaredLogarithmicError>;
template struct MeanOf<losses::LogCosh>;
template struct MeanOf<losses::KlDivergence>;
template struct MeanOf<losses::Poisson>;
template struct MeanOf<losses::Hinge>;
template struct MeanOf<losses::SquaredHinge>;
template struct MeanOf<losses::CategoricalHinge>;

MetricNode CosineSimilarity::node(const Loss& loss, const Shape&) const {
  require_numbers(kName, loss, "use accuracy");
  MetricNode node = mean_of_op(ops::Loss(ops::LossKind::kCosineSimilarity));
  node.value = [](std::span<const double> sums, std::int64_t examples) { return -mean_of(sums, examples); };
  return node;
}

config::Section<CosineSimilarity> CosineSimilarity::section() {
  return config::Section<CosineSimilarity>(
             "Cosine similarity: 1 where output and label have the same direction, -1 where opposite.")
      .include<losses::LastAxis>();
}

MetricNode BinaryCrossentropy::node(const Loss& loss, const Shape&) const {
  require_numbers(kName, loss, kSparse);
  const ops::Loss op(ops::LossKind::kBinaryCrossentropy, false, static_cast<float>(label_smoothing));
  return mean_of_op(with_logits(op, *this, loss));
}

config::Section<BinaryCrossentropy> BinaryCrossentropy::section() {
  return config::Section<BinaryCrossentropy>("Binary crossentropy, for outputs that are each true or false.")
      .key("from_logits", &BinaryCrossentropy::from_logits, kLogitsHelp)
      .key("label_smoothing", &BinaryCrossentropy::label_smoothing, kSmoothingHelp, config::between(0, 1));
}

MetricNode CategoricalCrossentropy::node(const Loss& loss, const Shape&) const {
  require_numbers(kName, loss, kSparse);
  const ops::Loss op(ops::LossKind::kCategoricalCrossentropy, false, static_cast<float>(label_smoothing));
  return mean_of_op(with_logits(op, *this, loss));
}

config::Section<CategoricalCrossentropy> CategoricalCrossentropy::section() {
  return config::Section<CategoricalCrossentropy>("Crossentropy between classes and one-hot labels.")
      .key("from_logits", &CategoricalCrossentropy::from_logits, kLogitsHelp)
      .key("label_smoothing", &CategoricalCrossentropy::label_smoothing, kSmoothingHelp, config::between(0, 1))
      .include<losses::LastAxis>();
}

MetricNode SparseCategoricalCrossentropy::node(const Loss& loss, const Shape&) const {
  require_class_numbers(kName, loss, "use categorical_crossentropy");
  MetricNode node = mean_of_op(with_logits(ops::Loss(ops::LossKind::kSparseCategoricalCrossentropy), *this, loss));
  if (ignore_class) {  // Keras's metric divides by all positions, unlike its loss
    node.value = [](std::span<const double> sums, std::int64_t examples) {
      return ratio(sums[0], static_cast<double>(examples));
    };
  }
  return node;
}

ValueId SparseCategoricalCrossentropy::mask(Graph& graph, ValueId labels) const {
  if (!ignore_class) return kNoValue;
  return graph.apply_one(ops::LabelMask(static_cast<std::int32_t>(*ignore_class)), {labels});
}

config::Section<SparseCategoricalCrossentropy> SparseCategoricalCrossentropy::section() {
  return config::Section<SparseCategoricalCrossentropy>(
             "Crossentropy between classes and labels that are class numbers.")
      .key("from_logits", &SparseCategoricalCrossentropy::from_logits, kLogitsHelp)
      .key("ignore_class", &SparseCategoricalCrossentropy::ignore_class,
           "A label whose positions count 0; the mean is still over all of every example, as Keras's is.",
           config::aliases("ignore_index, ignore_label"))
      .include<losses::LastAxis>();
}

}  // namespace mirrortrain::metrics
