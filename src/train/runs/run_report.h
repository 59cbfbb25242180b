#pragma once

#include <functional>
#include <string>

#include "report/page/page.h"
#include "train/checkpoint/run_folder.h"
#include "train/session/check_configuration.h"

namespace mirrortrain {

/// The contents of a run's folder: curves, figures, configuration, and the classes of an eval.json in it. Missing or
/// damaged files become notes on the page. The run may still be training.
report::RunPage run_page(const RunFolder& folder, const std::string& name);

/// Adds the layers of a run's model.
void add_layers(const CheckedConfiguration& checked, report::RunPage& page);

/// Writes the page of a run that has just ended to its folder. `add_predictions`, if given, adds to it what the model
/// predicts, which is computed again; otherwise the page has what is known by then. Throws Error if it cannot be
/// written.
void write_run_report(const RunFolder& folder, const CheckedConfiguration& checked,
                      const std::function<void(report::RunPage& page)>& add_predictions = {});

}  // namespace mirrortrain
