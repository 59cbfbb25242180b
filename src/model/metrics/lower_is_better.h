#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace mirrortrain {

/// Whether a smaller value of the loss, or of a metric of this name, is better: of all but the metrics that count what
/// is right, or are larger the closer outputs are to labels. The name may begin with an output's, and be numbered:
/// rating_loss, clicked_auc_1. What a formula measures is taken for an error.
inline bool lower_is_better(std::string_view metric) {
  const std::size_t end = metric.find_last_not_of("0123456789");
  if (end != metric.npos && end + 1 < metric.size() && metric[end] == '_') metric = metric.substr(0, end);
  constexpr auto kHigher =
      std::to_array<std::string_view>({"accuracy", "auc", "f1_score", "fbeta_score", "iou", "precision", "recall",
                                       "sensitivity", "specificity", "r2_score", "true_positives", "true_negatives",
                                       "cosine_similarity", "pearson_correlation", "concordance_correlation"});
  return std::ranges::none_of(kHigher, [metric](std::string_view name) {
    if (!metric.ends_with(name)) return false;
    const std::size_t before = metric.size() - name.size();
    return before == 0 || metric[before - 1] == '_';
  });
}

}  // namespace mirrortrain
