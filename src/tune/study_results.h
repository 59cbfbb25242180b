#pragma once

#include <optional>
#include <span>
#include <string>

#include "tune/study_folder.h"
#include "tune/study_plan.h"
#include "tune/study_rows.h"

namespace mirrortrain::tune {

/// Makes `best` of the folder lead to the best trial whose run is there: one that was removed, as the data were changed
/// while it was trained further, keeps its result in the journal.
void link_best_trial(const StudyFolder& folder, std::span<const TrialRow> rows, bool less_is_better);

/// Prints and writes what a study that is done has found: the table, or in its place JSON where `json` is "-", the
/// best trial, report.html and the link to the best trial. With sampler: external stdout has the answers, and neither.
/// Returns the exit code: 0 if a trial is done, else 1.
int show_results(const StudyPlan& plan, const StudyFolder& folder, std::span<const TrialRow> rows,
                 const std::optional<std::string>& json);

}  // namespace mirrortrain::tune
