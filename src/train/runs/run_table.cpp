#include "train/runs/run_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/utf8.h"
#include "model/metrics/lower_is_better.h"
#include "report/event_lines.h"
#include "report/format.h"
#include "train/checkpoint/named_run.h"
#include "train/checkpoint/run_folder.h"
#include "train/runs/run_differences.h"

namespace mirrortrain {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// The metric by which runs are compared where none is asked for: the first, or the loss where it is that of several
/// outputs, which are named `OUTPUT_loss` one by one.
std::string usual_metric(const Json& metrics) {
  int losses = 0;
  for (const auto& [name, value] : metrics.items()) losses += name.ends_with("_loss") ? 1 : 0;
  return metrics.empty() || losses > 1 ? "loss" : metrics.begin().key();
}

/// The metric's value in an event's "validation", which is an object with loss and metrics.
std::optional<double> validated(const Json& event, const std::optional<std::string>& wanted, RunRow& row) {
  const Json& validation = report::structure_in(event, "validation");
  if (!validation.is_object() || validation.empty()) return std::nullopt;
  const Json& metrics = report::structure_in(validation, "metrics");
  if (!metrics.is_object()) return std::nullopt;
  row.validated.insert("loss");
  for (const auto& [name, value] : metrics.items()) row.validated.insert(name);
  std::string& metric = row.metric;
  if (metric.empty()) metric = wanted ? *wanted : usual_metric(metrics);
  const Json& holder = metric == "loss" ? validation : metrics;
  const auto found = holder.find(metric);
  return found != holder.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

void read_events(const RunFolder& run, const std::optional<std::string>& metric, RunRow& row) {
  row.status = "unfinished";
  const auto take = [&](const Json& event) {
    row.steps = std::max(row.steps, report::integer_in(event, "step"));
    const std::string kind = report::text_in(event, "event");
    row.status = kind == "end" ? report::text_in(event, "status") : "unfinished";
    if (kind == "step") {
      row.examples_per_second = report::number_in(event, "examples_per_second").value_or(0);
      row.seconds = report::number_in(event, "seconds").value_or(0);
    }
    if (const auto value = validated(event, metric, row); value && kind == "epoch") {
      row.last = value;
      const bool better = !row.best || (lower_is_better(row.metric) ? *value < *row.best : *value > *row.best);
      if (better) row.best = value;
    }
  };
  try {
    report::for_each_event(run.metrics(), take);
  } catch (const SystemError&) {  // the run has not written it, or it cannot be read
  }
}

void add_runs(const fs::path& folder, const std::string& prefix, bool descends,
              std::vector<std::pair<std::string, RunFolder>>& runs) {
  std::error_code missing;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, missing)) {
    const std::string name = prefix + entry.path().filename().string();
    if (!entry.is_directory(missing) || is_link_beside(entry)) continue;
    if (RunFolder{entry.path()}.exists()) {
      runs.emplace_back(name, RunFolder{entry.path()});
    } else if (descends) {
      add_runs(entry.path(), name + "/", false, runs);
    }
  }
}

/// Runs that compute for a shorter time have no rate worth showing: their first steps are slower than the others.
constexpr double kLeastMeasuredSeconds = 1;

/// A name of at most `width` columns, with "..." for its middle: runs of a study differ at the end.
std::string with_cut_middle(const std::string& name, std::size_t width) {
  constexpr std::string_view kGap = "...";
  if (display_width(name) <= width || width <= kGap.size()) return shortened(name, width);
  const std::size_t before = (width - kGap.size()) / 3;
  std::size_t begin = 0, end = 0;  // of the kept parts, in bytes
  while (display_width(name.substr(0, begin)) < before) {
    begin += std::max<std::size_t>(first_character(name.substr(begin)).bytes, 1);
  }
  for (end = begin; display_width(name.substr(end)) + display_width(name.substr(0, begin)) + kGap.size() > width;) {
    end += std::max<std::size_t>(first_character(name.substr(end)).bytes, 1);
  }
  return name.substr(0, begin) + std::string(kGap) + name.substr(end);
}

/// The first of the run's values that differ from others', indented, on as many lines as needed, long ones cut. `width`
/// 0: of no terminal, whose lines are of a length that people read all the same; the JSON has all.
std::string differences_text(const RunRow& run, std::size_t width) {
  constexpr std::string_view kIndent = "    ";
  constexpr std::size_t kWidthOfNone = 160, kMostKeys = 8;
  if (width == 0) width = kWidthOfNone;
  std::vector<std::string> entries;
  for (const auto& [key, value] : run.differs) {
    if (value != "-") entries.push_back(fmt::format("{}={}", key, value));
  }
  if (entries.size() > kMostKeys + 1) {
    const std::size_t others = entries.size() - kMostKeys;
    entries.resize(kMostKeys);
    entries.push_back(fmt::format("and {} more keys", others));
  }
  std::string text, line;
  for (std::string& entry : entries) {
    if (kIndent.size() + display_width(entry) > width) entry = shortened(entry, width - kIndent.size() - 3);
    if (!line.empty() && display_width(line) + 2 + display_width(entry) > width) {
      text += line + "\n";
      line.clear();
    }
    line += (line.empty() ? std::string(kIndent) : "  ") + entry;
  }
  return line.empty() ? text : text + line + "\n";
}

/// The columns that fit; the first, the name, is shortened before others are dropped; `width` 0: all.
std::vector<std::size_t> shown_columns(std::vector<std::size_t>& widths, std::size_t width) {
  constexpr std::size_t kLeastName = 12;
  std::vector<std::size_t> shown(widths.size());
  std::iota(shown.begin(), shown.end(), std::size_t{0});
  const auto others = [&] {
    std::size_t all = 0;
    for (const std::size_t i : shown) all += i > 0 ? widths[i] + 2 : 0;
    return all;
  };
  if (width == 0 || widths[0] + others() <= width) return shown;
  const std::size_t least = std::min(widths[0], kLeastName);
  for (const std::size_t dropped : {1, 7, 6, 2, 3, 4, 5}) {  // the start, the speed, the metric's name, ...
    if (least + others() <= width) break;
    std::erase(shown, dropped);
  }
  widths[0] = std::min(widths[0], width - std::min(width - 4, others()));
  return shown;
}

std::string score(const std::optional<double>& value) { return value ? report::score_text(*value) : "-"; }

}  // namespace

/// The first line of run.log begins with the time.
std::string start_of(const RunFolder& run) {
  std::string time = "2026-01-31 12:00:00";
  try {
    const bool is_whole = InputFile(run.log()).read(std::as_writable_bytes(std::span(time))) == time.size();
    return is_whole && time[4] == '-' ? time : "";
  } catch (const SystemError&) {
    return "";
  }
}

std::vector<RunRow> list_runs(const fs::path& folder, const std::optional<std::string>& metric) {
  std::vector<std::pair<std::string, RunFolder>> runs;
  if (RunFolder{folder}.exists()) {
    runs.emplace_back(folder.filename().string(), RunFolder{folder});
  } else {
    add_runs(folder, "", true, runs);
  }
  std::ranges::sort(runs, {}, [](const auto& run) { return run.first; });
  std::vector<RunRow> rows;
  std::vector<RunFolder> folders;
  for (const auto& [name, run] : runs) {
    RunRow& row = rows.emplace_back();
    row.name = name;
    row.started = start_of(run);
    read_events(run, metric, row);
    folders.push_back(run);
  }
  for (const report::Difference& difference : configuration_differences(folders)) {
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].differs.emplace_back(difference.key, difference.values[i]);
  }
  return rows;
}

void sort_runs(std::vector<RunRow>& runs, RunColumn column) {
  // Missing values last; the better metric and the faster run first.
  const auto rank = [](const RunRow& run, const std::optional<double>& value) {
    if (!value) return std::pair(1, 0.0);
    return std::pair(0, lower_is_better(run.metric) ? *value : -*value);
  };
  std::ranges::stable_sort(runs, [&](const RunRow& a, const RunRow& b) {
    switch (column) {
      case RunColumn::kName: return a.name < b.name;
      case RunColumn::kStarted: return a.started < b.started;
      case RunColumn::kStatus: return a.status < b.status;
      case RunColumn::kSteps: return a.steps < b.steps;
      case RunColumn::kLast: return rank(a, a.last) < rank(b, b.last);
      case RunColumn::kBest: return rank(a, a.best) < rank(b, b.best);
      case RunColumn::kExamplesPerSecond: break;
    }
    return a.examples_per_second > b.examples_per_second;
  });
}

std::string run_table(const std::vector<RunRow>& runs, std::size_t width) {
  std::vector<std::vector<std::string>> cells = {
      {"name", "started", "status", "steps", "last", "best", "of validation", "examples/s"}};
  for (const RunRow& run : runs) {
    cells.push_back({run.name, run.started.empty() ? "-" : run.started.substr(0, 16), run.status,
                     std::to_string(run.steps), score(run.last), score(run.best), run.last ? run.metric : "-",
                     run.examples_per_second > 0 && run.seconds >= kLeastMeasuredSeconds
                         ? report::with_thousands(static_cast<std::int64_t>(run.examples_per_second))
                         : "-"});
  }
  std::vector<std::size_t> widths(cells[0].size(), 0);
  for (const auto& row : cells) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  const std::vector<std::size_t> shown = shown_columns(widths, width);
  std::string text;
  for (std::size_t r = 0; r < cells.size(); ++r) {
    std::string line;
    for (const std::size_t i : shown) {
      std::string& cell = cells[r][i];
      if (display_width(cell) > widths[i]) {
        cell = i == 0 ? with_cut_middle(cell, widths[i]) : shortened(cell, widths[i] - 3);
      }
      line += (i > 0 ? "  " : "") + padded(cell, i != shown.back() ? widths[i] : 0);
    }
    text += line + "\n";
    if (r > 0) text += differences_text(runs[r - 1], width);
  }
  return text;
}

std::string run_table_json(const std::vector<RunRow>& runs) {
  Json list = Json::array();
  for (const RunRow& run : runs) {
    Json differs = Json::object();
    for (const auto& [key, value] : run.differs) differs[key] = value;
    list.push_back({{"name", run.name},
                    {"started", run.started},
                    {"status", run.status},
                    {"steps", run.steps},
                    {"metric", run.metric},
                    {"last", run.last ? Json(*run.last) : Json()},
                    {"best", run.best ? Json(*run.best) : Json()},
                    {"examples_per_second", run.examples_per_second},
                    {"differs", std::move(differs)}});
  }
  return json_text(Json{{"runs", std::move(list)}}, 2);
}

}  // namespace mirrortrain
