#pragma once

#include "report/page/markup.h"
#include "report/page/study_page.h"

namespace mirrortrain::report {

// Charts as SVG, which need no script. Values far worse than most are drawn at the edge. Empty without any value.

/// Each trial's value, and the best so far.
Markup history_chart(const StudyPage& study);

/// An axis for each parameter and one for the value, and a line for each trial, the better the stronger.
Markup parallel_coordinates(const StudyPage& study);

}  // namespace mirrortrain::report
