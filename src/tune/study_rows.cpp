#include "tune/study_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/json.h"
#include "base/utf8.h"
#include "config/scalar.h"
#include "report/format.h"
#include "report/mean_scores.h"

namespace mirrortrain::tune {
namespace {

using Json = nlohmann::ordered_json;

std::size_t widest_cell(const Parameter& parameter) {
  constexpr std::size_t kOfScore = 9;  // "1.230e-05"
  if (parameter.kind == Parameter::Kind::kReal) return kOfScore;
  if (parameter.kind == Parameter::Kind::kInteger) {
    return std::max(cell_of(parameter, parameter.low).size(), cell_of(parameter, parameter.high).size());
  }
  std::size_t widest = 0;
  for (std::size_t i = 0; i < parameter.count(); ++i) {
    widest = std::max(widest, display_width(cell_of(parameter, static_cast<double>(i))));
  }
  return widest;
}

/// The smaller, the better.
auto rank_of(const TrialRow& row, bool less_is_better) {
  const double value = row.value.value_or(0);
  return std::tuple(!row.value, -row.epochs, less_is_better ? value : -value, row.number);
}

}  // namespace

std::string cell_of(const Parameter& parameter, double number) {
  constexpr std::size_t kWidest = 32;
  if (parameter.kind == Parameter::Kind::kReal) return fmt::format("{:.4g}", number);
  return shortened(config::flow_text(parameter.value_of(number), kWidest), kWidest);
}

std::string epoch_text(const TrialRow& row) {
  const std::string best = row.best_epoch > 0 ? fmt::to_string(row.best_epoch) : "-";
  return row.epochs > 0 ? fmt::format("{}/{}", best, row.epochs) : best;
}

std::string_view name_of(TrialStatus status) {
  switch (status) {
    case TrialStatus::kDone: return "done";
    case TrialStatus::kPruned: return "pruned";
    case TrialStatus::kFailed: return "failed";
    case TrialStatus::kUnfinished: break;
  }
  return "unfinished";
}

std::optional<double> TrialRow::deviation() const {
  if (folds.empty() || !value) return std::nullopt;
  return report::deviation_of(folds);
}

TrialRow row_of(int number, const Point& point, const TrialResult* result) {
  TrialRow row;
  row.number = number;
  row.point = point;
  if (result == nullptr) return row;
  row.status = result->is_done ? TrialStatus::kDone : TrialStatus::kFailed;
  row.epochs = result->epochs;
  row.reason = result->reason;
  if (!result->is_done) return row;
  row.value = result->value;
  row.best_epoch = result->best_epoch;
  row.folds = result->folds;
  return row;
}

std::vector<TrialRow> rows_of(std::span<const Trial> trials, std::span<const Round> rounds) {
  std::vector<TrialRow> rows;
  for (const Trial& trial : trials) {
    const TrialResult* const last = trial.results.empty() ? nullptr : &trial.results.back();
    TrialRow& row = rows.emplace_back(row_of(static_cast<int>(rows.size()) + 1, trial.point, last));
    // With one round, another program may have asked for any number of epochs.
    const bool is_pruned = rounds.size() > 1 && row.epochs != rounds.back().epochs;
    if (row.status == TrialStatus::kDone && is_pruned) row.status = TrialStatus::kPruned;
  }
  return rows;
}

std::vector<TrialRow> ranked_rows(std::vector<TrialRow> rows, bool less_is_better) {
  std::ranges::sort(rows, {}, [&](const TrialRow& row) { return rank_of(row, less_is_better); });
  return rows;
}

const TrialRow* best_row(std::span<const TrialRow> rows, bool less_is_better) {
  const auto best =
      std::ranges::min_element(rows, {}, [&](const TrialRow& row) { return rank_of(row, less_is_better); });
  return best == rows.end() || !best->value ? nullptr : &*best;
}

std::string trial_folder_name(int number) { return fmt::format("trial-{:04}", number); }

std::vector<std::string> short_names(const SearchSpace& space) {
  std::vector<std::string> names;
  for (const Parameter& parameter : space.parameters()) {
    const std::string& key = parameter.key;
    std::string name = key;
    for (std::size_t dot = key.rfind('.'); dot != std::string::npos && dot > 0; dot = key.rfind('.', dot - 1)) {
      const std::string end = key.substr(dot);
      const auto ends_so = [&](const Parameter& other) {
        return other.key.ends_with(end) || other.key == end.substr(1);
      };
      if (std::ranges::count_if(space.parameters(), ends_so) > 1) continue;
      name = end.substr(1);
      break;
    }
    names.push_back(std::move(name));
  }
  return names;
}

TrialTable::TrialTable(const SearchSpace& space, std::string metric, std::size_t trials, bool has_folds)
    : space_(space), has_folds_(has_folds) {
  titles_ = {"trial", "status", std::move(metric)};
  widths_ = {fmt::to_string(trials).size(), name_of(TrialStatus::kUnfinished).size(), 9};
  if (has_folds) {
    titles_.emplace_back("std_dev");
    widths_.push_back(9);
  }
  titles_.emplace_back("epoch");
  widths_.push_back(5);
  const std::vector<std::string> names = short_names(space);
  for (std::size_t i = 0; i < names.size(); ++i) {
    titles_.push_back(names[i]);
    widths_.push_back(widest_cell(space.parameters()[i]));
  }
  for (std::size_t i = 0; i < titles_.size(); ++i) widths_[i] = std::max(widths_[i], display_width(titles_[i]));
}

std::string TrialTable::joined(const std::vector<std::string>& cells) const {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) line += (i > 0 ? "  " : "") + padded(cells[i], widths_[i]);
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

std::string TrialTable::header() const { return joined(titles_); }

std::string TrialTable::line(const TrialRow& row) const {
  std::vector<std::string> cells = {fmt::to_string(row.number), std::string(name_of(row.status)),
                                    row.value ? report::score_text(*row.value) : "-"};
  if (has_folds_) cells.push_back(row.value ? report::score_text(row.deviation().value_or(0)) : "-");
  cells.push_back(row.value ? epoch_text(row) : "-");
  for (std::size_t i = 0; i < space_.parameters().size(); ++i) {
    cells.push_back(row.point[i] ? cell_of(space_.parameters()[i], *row.point[i]) : "-");
  }
  return joined(cells);
}

Json trial_json(const SearchSpace& space, const TrialRow& row, const std::filesystem::path& folder) {
  Json trial = {{"trial", row.number},
                {"status", name_of(row.status)},
                {"value", row.value ? Json(*row.value) : Json()},
                {"best_epoch", row.best_epoch > 0 ? Json(row.best_epoch) : Json()},
                {"parameters", space.to_json(row.point)},
                {"run", (folder / trial_folder_name(row.number)).string()}};
  if (row.epochs > 0) trial["epochs"] = row.epochs;
  if (const auto deviation = row.deviation()) {
    trial["deviation"] = *deviation;
    trial["folds"] = row.folds;
  }
  if (!row.reason.empty()) trial["reason"] = row.reason;
  return trial;
}

std::string study_json(const SearchSpace& space, const WatchedMetric& objective, std::span<const TrialRow> rows,
                       const std::filesystem::path& folder) {
  Json trials = Json::array();
  for (const TrialRow& row : rows) trials.push_back(trial_json(space, row, folder));
  const TrialRow* const best = best_row(rows, objective.less_is_better());
  const Json study = {{"metric", objective.metric.value},
                      {"mode", objective.less_is_better() ? "min" : "max"},
                      {"split", config::name_of(objective.split)},
                      {"best", best != nullptr ? Json(best->number) : Json()},
                      {"trials", std::move(trials)}};
  return json_text(study, 2);
}

}  // namespace mirrortrain::tune
