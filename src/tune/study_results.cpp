#include "tune/study_results.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "base/files.h"
#include "report/console.h"
#include "tune/study_report.h"

namespace mirrortrain::tune {

namespace fs = std::filesystem;

namespace {

void print_table(const StudyPlan& plan, std::span<const TrialRow> rows) {
  const WatchedMetric objective = plan.search().objective();
  const TrialTable table(plan.space, objective.metric.value, rows.size(), plan.folds > 1);
  std::string text = table.header() + "\n";
  for (const TrialRow& row : ranked_rows({rows.begin(), rows.end()}, objective.less_is_better()))
    text += table.line(row) + "\n";
  report::print_narrowed(stdout, text);
}

/// Whether model.safetensors has the weights of a run's best epoch.
bool restores_best_epoch(const Configuration& values) {
  return std::ranges::any_of(values.callbacks, [](const auto& callback) {
    const auto* const stopping = std::get_if<EarlyStopping>(&callback.value);
    return stopping != nullptr && stopping->restore_best;
  });
}

void print_best(const StudyPlan& plan, const StudyFolder& folder, std::span<const TrialRow> rows) {
  const auto failed = std::ranges::count(rows, TrialStatus::kFailed, &TrialRow::status);
  if (failed > 0) {
    spdlog::warn("{} of {} trials failed; {} says why", failed, rows.size(), folder.journal().string());
  }
  const WatchedMetric objective = plan.search().objective();
  const TrialRow* const best = best_row(rows, objective.less_is_better());
  if (best == nullptr) return;
  const std::string where = best->best_epoch > 0 ? fmt::format("in epoch {}", best->best_epoch)
                                                 : fmt::format("in the mean of {} folds, standard deviation {:.3g}",
                                                               best->folds.size(), best->deviation().value_or(0));
  spdlog::info("best: trial {}, {} {:.6g} {}: {}", best->number, objective.text(), *best->value, where,
               folder.trial(best->number).string());
  if (!fs::exists(folder.trial(best->number))) {
    spdlog::warn("its run does not exist: it was removed, or the data were changed while it was trained further");
    return;
  }
  const std::int64_t epochs = best->epochs > 0 ? best->epochs : plan.checked.values().training.epochs.value_or(0);
  if (best->folds.empty() && best->best_epoch < epochs && !restores_best_epoch(plan.checked.values())) {
    spdlog::warn(
        "its model.safetensors has the weights of its last epoch; {}",
        plan.checked.values().checkpoint.save_best
            ? "those of its best one are in checkpoints/best"
            : fmt::format(
                  "with checkpoint: {{save_best: {{metric: {}}}}} those of its best one are in checkpoints/best",
                  objective.metric.value));
  }
}

/// A failure to write the page must not fail the study.
void write_report(const StudyPlan& plan, const StudyFolder& folder, std::span<const TrialRow> rows) {
  if (!plan.checked.values().logging.report) return;
  try {
    write_study_report(plan, folder, rows);
  } catch (const std::exception& error) {
    spdlog::warn("no report was written: {}", error.what());
  }
}

}  // namespace

void link_best_trial(const StudyFolder& folder, std::span<const TrialRow> rows, bool less_is_better) {
  for (const TrialRow& row : ranked_rows({rows.begin(), rows.end()}, less_is_better)) {
    if (row.value && fs::exists(folder.trial(row.number))) return folder.link_best(row.number);
  }
  folder.unlink_best();
}

int show_results(const StudyPlan& plan, const StudyFolder& folder, std::span<const TrialRow> rows,
                 const std::optional<std::string>& json_file) {
  const WatchedMetric objective = plan.search().objective();
  // A study that was killed may have no link to the trial that its last result made the best.
  link_best_trial(folder, rows, objective.less_is_better());
  const std::string json = study_json(plan.space, objective, rows, folder.path());
  if (json_file && *json_file != "-") write_result(*json_file, json + "\n");
  if (json_file == "-") {
    fmt::print("{}\n", json);
  } else if (plan.search().sampler != SearchSampler::kExternal) {
    print_table(plan, rows);
  }
  if (rows.empty()) spdlog::warn("stdin has ended before it asked for a trial");
  print_best(plan, folder, rows);
  write_report(plan, folder, rows);
  return best_row(rows, objective.less_is_better()) != nullptr ? 0 : 1;
}

}  // namespace mirrortrain::tune
