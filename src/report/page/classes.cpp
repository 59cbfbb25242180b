// The section on how well classes are distinguished, and reading its data.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/event_lines.h"
#include "report/page/sections.h"

namespace mirrortrain::report {
namespace {

using Json = nlohmann::ordered_json;

/// With more classes a matrix is unreadable: the most frequent confusions are listed instead.
constexpr std::size_t kMostClassesOfMatrix = 40;
constexpr std::size_t kListedConfusions = 40;

Markup class_table(const ClassFigures& figures) {
  Markup body;
  for (const ClassFigures::Class& one : figures.classes) {
    body += markup(
        "<tr><th>{}</th><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
        "class=\"n\">{}</td></tr>\n",
        one.name, figure_text(one.precision), figure_text(one.recall), figure_text(one.f1),
        with_thousands(one.examples));
  }
  const Markup head = {
      "<th>class</th><th class=\"n\">precision</th><th class=\"n\">recall</th><th class=\"n\">F1</th>"
      "<th class=\"n\">examples</th>"};
  return table({.head = head, .body = body, .place = "scroll tall"});
}

Markup matrix(const ClassFigures& figures) {
  Markup head = {"<th><span class=\"axis\">true ↓ &nbsp; predicted →</span></th>"}, body;
  for (const ClassFigures::Class& one : figures.classes) head += markup("<th class=\"n\">{}</th>", one.name);
  for (std::size_t truth = 0; truth < figures.classes.size(); ++truth) {
    body += markup("<tr><th>{}</th>", figures.classes[truth].name);
    const auto all = static_cast<double>(std::max<std::int64_t>(figures.classes[truth].examples, 1));
    for (std::size_t predicted = 0; predicted < figures.classes.size(); ++predicted) {
      const std::int64_t count = figures.confusion[truth][predicted];
      const double share = std::clamp(static_cast<double>(count) / all, 0.0, 1.0);
      body += markup("<td class=\"n cell{}{}\" style=\"--share:{:.3f}\">{}</td>", truth == predicted ? " right" : "",
                     share > 0.5 ? " strong" : "", share, count);
    }
    body += {"</tr>\n"};
  }
  return table({.head = head, .body = body, .kind = "matrix"});
}

Markup confusions(const ClassFigures& figures) {
  struct Confusion {
    std::int64_t count;
    std::size_t truth, predicted;
  };
  std::vector<Confusion> list;
  for (std::size_t truth = 0; truth < figures.classes.size(); ++truth) {
    for (std::size_t predicted = 0; predicted < figures.classes.size(); ++predicted) {
      const std::int64_t count = figures.confusion[truth][predicted];
      if (truth != predicted && count > 0) list.push_back({count, truth, predicted});
    }
  }
  std::ranges::stable_sort(list, std::ranges::greater(), &Confusion::count);
  if (list.size() > kListedConfusions) list.resize(kListedConfusions);
  Markup body;
  for (const Confusion& one : list) {
    body += markup("<tr><th>{}</th><td>{}</td><td class=\"n\">{}</td></tr>\n", figures.classes[one.truth].name,
                   figures.classes[one.predicted].name, one.count);
  }
  Markup html = markup("<p>A matrix of {} classes is too large to read; these are the most frequent confusions.</p>\n",
                       figures.classes.size());
  html += table({.head = {"<th>true class</th><th>predicted</th><th class=\"n\">examples</th>"},
                 .body = body,
                 .place = "scroll tall"});
  return html;
}

/// Every element of a row of the matrix must be a count, and every row must have one element per class.
bool read_row(const Json& row, std::size_t classes, std::vector<std::int64_t>& counts) {
  if (!row.is_array() || row.size() != classes) return false;
  for (const Json& count : row) {
    if (!count.is_number_integer()) return false;
    counts.push_back(count.get<std::int64_t>());
  }
  return true;
}

/// The matrix as rows or, with many classes, as its nonzero elements: [[label, predicted, examples], ...].
bool read_confusion(const Json& evaluation, std::size_t classes, std::vector<std::vector<std::int64_t>>& rows) {
  if (const Json& cells = structure_in(evaluation, "confusions"); cells.is_array()) {
    rows.assign(classes, std::vector<std::int64_t>(classes));
    for (const Json& cell : cells) {
      std::vector<std::int64_t> numbers;
      if (!read_row(cell, 3, numbers)) return false;
      const auto label = static_cast<std::size_t>(numbers[0]), predicted = static_cast<std::size_t>(numbers[1]);
      if (label >= classes || predicted >= classes) return false;
      rows[label][predicted] = numbers[2];
    }
    return true;
  }
  const Json& matrix = structure_in(evaluation, "confusion_matrix");
  if (!matrix.is_array() || matrix.size() != classes) return false;
  for (const Json& row : matrix) {
    if (!read_row(row, classes, rows.emplace_back())) return false;
  }
  return true;
}

/// What the diagrams show; elements that are incomplete are left out.
void read_diagrams(const Json& evaluation, ClassFigures& figures) {
  const auto all_numbers = [](const Json& object, std::initializer_list<const char*> names) {
    return std::ranges::all_of(names, [&](const char* name) { return number_in(object, name).has_value(); });
  };
  const auto number = [](const Json& object, const char* name) { return number_in(object, name).value_or(0); };
  for (const Json& bin : structure_in(evaluation, "calibration")) {
    if (!all_numbers(bin, {"from", "to", "confidence", "accuracy"})) continue;
    figures.calibration.push_back({number(bin, "from"), number(bin, "to"), integer_in(bin, "examples"),
                                   number(bin, "confidence"), number(bin, "accuracy")});
  }
  for (const Json& one : structure_in(evaluation, "thresholds")) {
    if (!all_numbers(one, {"threshold", "recall", "false_positive_rate", "precision"})) continue;
    figures.thresholds.push_back({number(one, "threshold"), number(one, "recall"), number(one, "false_positive_rate"),
                                  number(one, "precision")});
  }
  figures.roc_area = number(evaluation, "roc_auc");
  figures.average_precision = number(evaluation, "average_precision");
}

}  // namespace

std::optional<ClassFigures> class_figures(const Json& evaluation) {
  const Json& classes = structure_in(evaluation, "classes");
  if (!classes.is_array() || classes.empty()) return std::nullopt;
  ClassFigures figures{text_in(evaluation, "split"),
                       integer_in(evaluation, "step"),
                       {},
                       {},
                       number_in(evaluation, "expected_calibration_error")};
  for (const Json& one : classes) {
    const std::string name = text_in(one, "name");
    figures.classes.push_back({name.empty() ? std::to_string(figures.classes.size()) : name,
                               number_in(one, "precision").value_or(0), number_in(one, "recall").value_or(0),
                               number_in(one, "f1").value_or(0), integer_in(one, "examples")});
  }
  if (!read_confusion(evaluation, classes.size(), figures.confusion)) return std::nullopt;
  read_diagrams(evaluation, figures);
  return figures;
}

std::vector<ClassFigures> figures_of_outputs(const Json& evaluation) {
  std::vector<ClassFigures> all;
  if (auto figures = class_figures(evaluation)) all.push_back(*std::move(figures));
  const Json& outputs = structure_in(evaluation, "outputs");
  if (!outputs.is_object()) return all;
  for (const auto& [name, output] : outputs.items()) {
    auto figures = class_figures(output);
    if (!figures) continue;
    figures->output = name;
    figures->split = text_in(evaluation, "split");
    figures->step = integer_in(evaluation, "step");
    all.push_back(*std::move(figures));
  }
  return all;
}

namespace {

Markup classes_of_output(const ClassFigures& figures) {
  const std::string step = figures.step > 0 ? " after step " + with_thousands(figures.step) : "";
  Markup html = markup("<p>Of the {} data, with the weights{}.", figures.split, step);
  if (figures.calibration_error) {
    html += markup(" Expected calibration error: {}.", figure_text(*figures.calibration_error));
  }
  html += {"</p>\n"};
  html += class_table(figures);
  html += class_diagrams(figures);
  html += {"<h3>Confusion matrix</h3>\n"};
  html += figures.classes.size() <= kMostClassesOfMatrix ? matrix(figures) : confusions(figures);
  return section(figures.output.empty() ? "Classes" : "Classes of " + figures.output, html);
}

}  // namespace

Markup classes_section(const RunPage& run) {
  if (run.classes.empty()) return absent("Classes", run.why_no_classes);
  Markup html;
  for (const ClassFigures& figures : run.classes) html += classes_of_output(figures);
  return html;
}

}  // namespace mirrortrain::report
