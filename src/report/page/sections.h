#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/page/markup.h"
#include "report/page/page.h"

namespace mirrortrain::report {

/// Five significant digits: "0.51230", "1.2300e-05"; "NaN" for NaN.
std::string figure_text(double value);

// Building blocks of sections.

Markup section(const std::string& title, const Markup& content);
/// Empty if there is no reason to give.
Markup absent(const std::string& title, const std::string& why);

/// A table with one or two header rows.
struct Table {
  Markup head, body, foot;            ///< cells; rows; a <tfoot>, if any
  Markup second_head = {};            ///< cells of the second row
  std::string_view place = "scroll";  ///< the class of its container
  std::string_view kind = {};         ///< its own class, if any
};
Markup table(const Table& table);

/// Shown to the reader first.
Markup notes_section(const std::vector<std::string>& notes);
/// Names and what they are, side by side.
Markup facts_section(const std::vector<std::pair<std::string, std::string>>& facts);

// Sections of a page; empty if there is nothing to report.

/// Loss and metrics of each split: the last epoch's, and those of evaluations.
Markup scores_section(const RunHistory& history);
Markup callbacks_section(const RunHistory& history);
Markup classes_section(const RunPage& run);
/// Calibration, and the curves of two classes; empty if there are none.
Markup class_diagrams(const ClassFigures& figures);
Markup mistakes_section(const RunPage& run);
Markup numbers_section(const RunPage& run);
Markup text_section(const RunPage& run);
Markup layers_section(const RunPage& run);
Markup configuration_section(const RunPage& run);
/// A row for each of several runs, with each figure's best value highlighted.
Markup comparison_section(const std::vector<RunPage>& runs, const Comparison& comparison);
Markup differences_section(const std::vector<RunPage>& runs, const std::vector<Difference>& differences);

}  // namespace mirrortrain::report
