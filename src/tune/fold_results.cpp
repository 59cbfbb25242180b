#include "tune/fold_results.h"

#include <fmt/format.h>

#include "report/mean_scores.h"

namespace mirrortrain::tune {

TrialResult result_of_folds(const std::vector<const TrialResult*>& folds) {
  TrialResult all;
  all.is_done = true;
  for (std::size_t i = 0; i < folds.size(); ++i) {
    if (folds[i] == nullptr) continue;
    if (!folds[i]->is_done) {
      TrialResult failed = *folds[i];
      failed.reason = fmt::format("fold {}: {}", i + 1, failed.reason);
      return failed;
    }
    all.epochs = folds[i]->epochs;
    all.folds.push_back(folds[i]->value);
  }
  all.value = report::mean_of(all.folds);
  return all;
}

}  // namespace mirrortrain::tune
