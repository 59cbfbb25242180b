#pragma once

#include <span>

#include "tune/study_folder.h"
#include "tune/study_plan.h"
#include "tune/study_rows.h"

namespace mirrortrain::tune {

/// Writes report.html of a study.
void write_study_report(const StudyPlan& plan, const StudyFolder& folder, std::span<const TrialRow> rows);

}  // namespace mirrortrain::tune
