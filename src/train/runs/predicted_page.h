#pragma once

#include <string>
#include <vector>

#include "report/page/page.h"
#include "train/checkpoint/named_run.h"

namespace mirrortrain {

struct PredictedPage {
  std::vector<std::string> overrides;  ///< of the configuration, for the predictions
  bool predicts = true;                ///< the classes and the worst mistakes, which the model must compute again
};

/// run_page of a run, or of its checkpoint, with the model's layers and predictions. Errors become notes on the page: a
/// run that is still training, or whose data no longer exist, still has curves.
report::RunPage predicted_page(const NamedRun& run, const std::string& name, const PredictedPage& options);

}  // namespace mirrortrain
