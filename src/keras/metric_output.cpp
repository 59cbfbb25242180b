#include "keras/metric_output.h"

#include <algorithm>
#include <array>
#include <utility>

namespace mirrortrain::keras {

OutputSeen output_seen(const std::optional<Loss>& loss) {
  if (!loss) return OutputSeen::kAsItIs;
  if (targets_of(*loss) == Targets::kSigns) return OutputSeen::kBySign;
  if (!takes_logits(*loss)) return OutputSeen::kAsItIs;
  return ops::is_binary(loss_op(*loss).kind) ? OutputSeen::kThroughSigmoid : OutputSeen::kThroughSoftmax;
}

MetricKind metric_kind(std::string_view name) {
  using Kind = MetricKind;
  constexpr auto kKinds =
      std::to_array<std::pair<std::string_view, Kind>>({{"precision", Kind::kCounts},
                                                        {"recall", Kind::kCounts},
                                                        {"true_positives", Kind::kCounts},
                                                        {"true_negatives", Kind::kCounts},
                                                        {"false_positives", Kind::kCounts},
                                                        {"false_negatives", Kind::kCounts},
                                                        {"binary_accuracy", Kind::kSides},
                                                        {"binary_iou", Kind::kSides},
                                                        {"f1_score", Kind::kFScores},
                                                        {"fbeta_score", Kind::kFScores},
                                                        {"auc", Kind::kAuc},
                                                        {"precision_at_recall", Kind::kAtBound},
                                                        {"recall_at_precision", Kind::kAtBound},
                                                        {"sensitivity_at_specificity", Kind::kAtBound},
                                                        {"specificity_at_sensitivity", Kind::kAtBound},
                                                        {"kl_divergence", Kind::kDivergence},
                                                        {"binary_crossentropy", Kind::kCrossentropies},
                                                        {"categorical_crossentropy", Kind::kCrossentropies},
                                                        {"sparse_categorical_crossentropy", Kind::kCrossentropies}});
  const auto* const known = std::ranges::find(kKinds, name, &std::pair<std::string_view, Kind>::first);
  return known != kKinds.end() ? known->second : Kind::kOther;
}

}  // namespace mirrortrain::keras
