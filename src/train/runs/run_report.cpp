#include "train/runs/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "launch/shell.h"
#include "model/metrics/lower_is_better.h"
#include "report/event_lines.h"
#include "report/page/sections.h"
#include "train/inference/class_report.h"
#include "train/inference/prediction.h"
#include "train/runs/run_header.h"
#include "train/runs/run_table.h"

namespace mirrortrain {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// The JSON object in a file; empty if there is no such file, or if it contains something else.
Json object_in(const fs::path& file) {
  if (!fs::is_regular_file(file)) return Json::object();
  Json json = parse_json_if_valid<Json>(read_text_file(file));
  return json.is_object() ? json : Json::object();
}

std::string status_of(const report::RunHistory& history, const RunFolder& folder) {
  if (!history.end) return fs::exists(folder.path / RunLock::kName) ? "in progress, or killed" : "unfinished";
  switch (history.end->status) {
    case report::EndEvent::Status::kDone: return "done";
    case report::EndEvent::Status::kStopped: return "stopped";
    case report::EndEvent::Status::kFailed: break;
  }
  return "failed";
}

/// "2 x NVIDIA H100"
std::string devices_text(const Json& devices) {
  std::map<std::string, int> counts;
  for (const Json& device : devices) ++counts[report::text_in(device, "name")];
  std::string text;
  for (const auto& [name, count] : counts) {
    text += (text.empty() ? "" : ", ") + (count > 1 ? fmt::format("{} x ", count) : "") + name;
  }
  return text;
}

/// Adds the best value of each validation figure.
void add_best(report::RunPage& page) {
  for (const report::RunCurve& one : page.history.curves) {
    if (one.series != "validation" || !one.is_of_epochs) continue;
    const bool lower = lower_is_better(one.title);
    std::optional<report::Curve::Point> best;  // downsampling keeps the minimum and maximum
    for (const report::Curve::Point& point : one.curve.points()) {
      const bool better = !best || (lower ? point.y < best->y : point.y > best->y);
      if (std::isfinite(point.y) && better) best = point;
    }
    if (!best) continue;
    page.facts.emplace_back("best validation " + one.title,
                            fmt::format("{} (step {})", report::figure_text(best->y),
                                        report::with_thousands(static_cast<std::int64_t>(best->x))));
  }
}

void add_facts(const RunFolder& folder, report::RunPage& page) {
  const report::RunHistory& history = page.history;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) page.facts.emplace_back(name, value);
  };
  add("status", status_of(history, folder));
  add("started", start_of(folder));
  add("steps", report::with_thousands(history.step));
  add("epochs", report::with_thousands(history.epoch));
  add("time", report::duration_text(history.seconds));
  const Json summary = object_in(folder.summary());
  const auto add_number = [&](const char* name, const char* key) {
    if (const std::int64_t number = report::integer_in(summary, key)) add(name, report::with_thousands(number));
  };
  add_number("global batch", "global_batch_size");
  add_number("replicas", "replicas");
  add("devices", devices_text(report::structure_in(summary, "devices")));
  add_number("parameters", "parameters");
  add_best(page);
}

void read_curves(const RunFolder& folder, report::RunPage& page) {
  if (!fs::exists(folder.metrics())) {
    page.notes.emplace_back("metrics.jsonl is missing: there are no curves and no figures of this run.");
    return;
  }
  try {
    page.history = report::read_history(folder.metrics(), folder.evaluations());
  } catch (const Error& error) {
    page.notes.push_back(fmt::format("There are no curves: {}", error.what()));
    return;
  }
  if (const std::int64_t lines = page.history.unreadable_lines; lines > 0) {
    page.notes.push_back(fmt::format("{} of metrics.jsonl cannot be read and {} left out: damaged, or not finished.",
                                     lines == 1 ? "A line" : fmt::format("{} lines", lines),
                                     lines == 1 ? "is" : "are"));
  }
  const bool has_gap = std::ranges::any_of(page.history.curves, [](const report::RunCurve& one) {
    const auto points = one.curve.points();
    return std::ranges::any_of(points, [](const auto& point) { return !std::isfinite(point.y); });
  });
  if (has_gap) page.notes.emplace_back("Some values are not finite (NaN or infinite): the curves have gaps there.");
}

/// The page's note instead of the classes: that `report` adds them, or why it does not. Empty if there are none.
std::string without_classes(const RunFolder& folder, const CheckedConfiguration& checked) {
  if (!checked.has_model()) return "";
  const std::vector<OutputMeaning> meanings = output_meanings(checked, nullptr);
  const auto found = std::ranges::find_if(meanings, &OutputMeaning::tells_classes);
  if (found == meanings.end()) return "";
  const OutputMeaning& meaning = *found;
  if (const std::string why = why_not_counted(meaning); !why.empty()) return fmt::format("Left out: {}.", why);
  return fmt::format("`mirrortrain report {}` adds how well each class is predicted{}.",
                     launch::quoted(folder.path.string()),
                     meaning.is_by_step() ? "" : ", and the worst mistakes where the examples are pictures");
}

}  // namespace

report::RunPage run_page(const RunFolder& folder, const std::string& name) {
  report::RunPage page;
  page.name = name;
  read_curves(folder, page);
  add_facts(folder, page);
  page.classes = report::figures_of_outputs(object_in(folder.evaluation()));
  try {
    page.configuration = read_text_file(folder.config());
  } catch (const Error& error) {
    page.notes.push_back(fmt::format("There is no configuration: {}", error.what()));
  }
  return page;
}

void add_layers(const CheckedConfiguration& checked, report::RunPage& page) {
  for (const LayerSummary& layer : checked.model->layers) {
    page.layers.push_back({layer.name, layer.type, layer.output_shape, layer.parameters});
  }
  if (checked.has_model()) page.trainable_parameters = count_parameters(*checked.model).trainable;
}

void write_run_report(const RunFolder& folder, const CheckedConfiguration& checked,
                      const std::function<void(report::RunPage& page)>& add_predictions) {
  if (fs::exists(folder.report()) && !fs::is_regular_file(folder.report())) {
    throw Error(fmt::format("{} is no file", folder.report().string()));
  }
  report::RunPage page = run_page(folder, name_of(folder));
  add_layers(checked, page);
  if (add_predictions) add_predictions(page);
  if (page.classes.empty() && page.why_no_classes.empty()) page.why_no_classes = without_classes(folder, checked);
  write_file(folder.report(), report::html_page({page}));
}

}  // namespace mirrortrain
