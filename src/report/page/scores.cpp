// The sections with losses and metrics.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "report/page/sections.h"

namespace mirrortrain::report {
namespace {

/// The scores of a split at a step.
struct ScoreRow {
  std::string split;
  std::int64_t step = 0, examples = 0;
  Scores scores;
};

/// The last point of each curve, by series in order of appearance.
std::vector<ScoreRow> last_scores(const RunHistory& history, bool of_epochs) {
  std::vector<ScoreRow> rows;
  for (const RunCurve& one : history.curves) {
    const bool is_score = one.chart == RunCurve::Chart::kLoss || one.chart == RunCurve::Chart::kMetric;
    if (!is_score || one.is_of_epochs != of_epochs) continue;
    auto row = std::ranges::find(rows, one.series, &ScoreRow::split);
    if (row == rows.end()) row = rows.insert(row, {one.series, 0, 0, {NAN, {}}});
    row->step = static_cast<std::int64_t>(one.curve.last().x);
    if (one.chart == RunCurve::Chart::kLoss) {
      row->scores.loss = one.curve.last().y;
    } else {
      row->scores.metrics.emplace_back(one.title, one.curve.last().y);
    }
  }
  return rows;
}

/// A name that may be broken after each underscore.
Markup breakable(std::string_view name) {
  std::string html;
  for (const char c : escaped(name)) html += c == '_' ? "_<wbr>" : std::string(1, c);
  return {html};
}

/// The scores of the last epoch, or of the restored one, if any epoch has ended; and those of evaluations.
std::vector<ScoreRow> score_rows(const RunHistory& history) {
  std::vector<ScoreRow> rows = last_scores(history, true);
  if (rows.empty()) rows = last_scores(history, false);
  if (const std::optional<EpochScores>& restored = history.restored) {
    for (ScoreRow& row : rows) {
      if (row.split == "training") row = {row.split, restored->step, 0, restored->training};
      if (row.split == "validation" && restored->validation)
        row = {row.split, restored->step, 0, *restored->validation};
    }
  }
  for (const EvaluationEvent& event : history.evaluations) {
    rows.push_back({event.split, event.step, event.examples, event.scores});
  }
  return rows;
}

void add_names(const std::vector<ScoreRow>& rows, std::vector<std::string>& names) {
  for (const ScoreRow& row : rows) {
    for (const auto& [name, value] : row.scores.metrics) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
}

std::optional<double> score_in(const ScoreRow& row, const std::string& name) {
  if (name == "loss") return row.scores.loss;
  for (const auto& [metric, value] : row.scores.metrics) {
    if (metric == name) return value;
  }
  return std::nullopt;
}

std::string cell_text(std::optional<double> value) { return value ? figure_text(*value) : "–"; }

std::string fact_of(const RunPage& run, std::string_view name) {
  for (const auto& [fact, value] : run.facts) {
    if (fact == name) return value;
  }
  return "–";
}

/// A figure of each run.
struct ScoreColumn {
  std::vector<std::optional<double>> values;
  std::optional<double> best;  ///< if they differ
};

/// The last row of a split; null if there is none.
const ScoreRow* find_split(const std::vector<ScoreRow>& rows, std::string_view split) {
  const auto found = std::ranges::find(rows.rbegin(), rows.rend(), split, &ScoreRow::split);
  return found == rows.rend() ? nullptr : &*found;
}

ScoreColumn score_column(const std::vector<std::vector<ScoreRow>>& runs, std::string_view split,
                         const std::string& name, const Comparison& comparison) {
  ScoreColumn column;
  std::vector<double> finite;
  for (const std::vector<ScoreRow>& rows : runs) {
    const ScoreRow* const row = find_split(rows, split);
    column.values.push_back(row != nullptr ? score_in(*row, name) : std::nullopt);
    if (const std::optional<double>& value = column.values.back(); value && std::isfinite(*value))
      finite.push_back(*value);
  }
  if (finite.empty() || !comparison.lower_is_better) return column;
  const auto [least, largest] = std::ranges::minmax(finite);
  if (least != largest) column.best = comparison.lower_is_better(name) ? least : largest;
  return column;
}

}  // namespace

std::string figure_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "infinity" : "-infinity";
  return fmt::format("{:#.5g}", value);
}

Markup scores_section(const RunHistory& history) {
  const std::vector<ScoreRow> rows = score_rows(history);
  if (rows.empty()) return {};
  std::vector<std::string> names = {"loss"};
  add_names(rows, names);
  Markup head = {"<th>split</th><th class=\"n\">step</th><th class=\"n\">examples</th>"}, body;
  for (const std::string& name : names) head += markup("<th class=\"n\">{}</th>", breakable(name));
  for (const ScoreRow& row : rows) {
    body += markup("<tr><th>{}</th><td class=\"n\">{}</td><td class=\"n\">{}</td>", row.split, with_thousands(row.step),
                   row.examples > 0 ? with_thousands(row.examples) : "–");
    for (const std::string& name : names) body += markup("<td class=\"n\">{}</td>", cell_text(score_in(row, name)));
    body += {"</tr>\n"};
  }
  return section("Figures", table({.head = head, .body = body}));
}

Markup comparison_section(const std::vector<RunPage>& runs, const Comparison& comparison) {
  std::vector<std::vector<ScoreRow>> rows;
  std::vector<std::string> names = {"loss"};
  for (const RunPage& run : runs) {
    rows.push_back(score_rows(run.history));
    add_names(rows.back(), names);
  }
  Markup head = {
      "<th rowspan=\"2\">run</th><th rowspan=\"2\">status</th><th class=\"n\" rowspan=\"2\">steps</th>"
      "<th class=\"n\" rowspan=\"2\">time</th>"};
  Markup metrics;
  std::vector<ScoreColumn> columns;
  for (const char* const split : {"training", "validation", "test"}) {
    if (!std::ranges::any_of(rows, [&](const auto& one) { return find_split(one, split) != nullptr; })) continue;
    head += markup("<th colspan=\"{}\" class=\"group\">{}</th>", names.size(), split);
    for (const std::string& name : names) {
      metrics += markup("<th class=\"n\">{}</th>", breakable(name));
      columns.push_back(score_column(rows, split, name, comparison));
    }
  }
  Markup body;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    body += markup(
        "<tr><th><span class=\"swatch\" data-run=\"{}\"></span>{}</th><td>{}</td><td class=\"n\">{}</td>"
        "<td class=\"n\">{}</td>",
        i, runs[i].name, fact_of(runs[i], "status"), with_thousands(runs[i].history.step), fact_of(runs[i], "time"));
    for (const ScoreColumn& column : columns) {
      const bool is_best = column.best && column.values[i] == column.best;
      body += markup("<td class=\"n{}\"{}>{}</td>", is_best ? " best" : "",
                     is_best ? Markup{" title=\"the best of these runs\""} : Markup{}, cell_text(column.values[i]));
    }
    body += {"</tr>\n"};
  }
  return section("Runs", table({.head = head, .body = body, .second_head = metrics, .kind = "runs"}));
}

Markup differences_section(const std::vector<RunPage>& runs, const std::vector<Difference>& differences) {
  if (differences.empty()) {
    return section("What differs", {"<p>The runs have the same configuration.</p>\n"});
  }
  Markup head = {"<th>key</th>"}, body;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    head += markup("<th><span class=\"swatch\" data-run=\"{}\"></span>{}</th>", i, runs[i].name);
  }
  for (const Difference& difference : differences) {
    body += markup("<tr><th><code>{}</code></th>", difference.key);
    for (const std::string& value : difference.values) body += markup("<td><code>{}</code></td>", value);
    body += {"</tr>\n"};
  }
  return section("What differs", table({.head = head, .body = body, .kind = "differences"}));
}

}  // namespace mirrortrain::report
