#pragma once

#include <string>

#include "report/page/page.h"
#include "train/checkpoint/run_folder.h"
#include "train/session/check_configuration.h"

namespace mirrortrain {

/// What a run's folder holds: curves, figures, configuration, and the classes of an eval.json there. What is missing or
/// damaged is a note on the page. The run may still train.
report::RunPage run_page(const RunFolder& folder, const std::string& name);

/// Adds the layers of a run's model.
void add_layers(const CheckedConfiguration& checked, report::RunPage& page);

/// Writes the page of a run that has just ended to its folder, of what is known by then: nothing is computed anew.
/// Throws Error where it cannot be written.
void write_run_report(const RunFolder& folder, const CheckedConfiguration& checked);

}  // namespace mirrortrain
