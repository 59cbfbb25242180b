#pragma once

#include <string>
#include <vector>

#include "report/page/markup.h"
#include "report/page/page.h"

namespace mirrortrain::report {

/// Five significant digits: "0.51230", "1.2300e-05"; "NaN" for what is not a number.
std::string figure_text(double value);

// Parts of a page; empty where there is nothing to say.

/// Loss and metrics of each split: the last epoch's, and those of evaluations.
Markup scores_section(const RunHistory& history);
Markup callbacks_section(const RunHistory& history);
Markup classes_section(const RunPage& run);
Markup mistakes_section(const RunPage& run);
Markup layers_section(const RunPage& run);
Markup configuration_section(const RunPage& run);
/// A row for each of several runs.
Markup comparison_section(const std::vector<RunPage>& runs);
Markup differences_section(const std::vector<RunPage>& runs, const std::vector<Difference>& differences);

}  // namespace mirrortrain::report
