#include "tune/tune.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "launch/shell.h"
#include "report/console.h"
#include "train/session/check_data.h"
#include "tune/check_search.h"
#include "tune/study.h"
#include "tune/study_report.h"

namespace mirrortrain::tune {
namespace {

namespace fs = std::filesystem;

void require_search(const CheckedConfiguration& checked, const std::string& file) {
  if (checked.values().search) return;
  throw UsageError(fmt::format(
      "{}: there is no section search, which says what to try; add one, as search: {{trials: 40, parameters: "
      "{{optimizer.learning_rate: {{min: 1.0e-4, max: 0.1, scale: log}}}}}}",
      file));
}

std::size_t count_trials(const SearchOptions& search, const SearchSpace& space) {
  const std::size_t asked = search.trials ? static_cast<std::size_t>(*search.trials) : SIZE_MAX;
  return search.sampler == SearchSampler::kGrid ? std::min(asked, *count_combinations(space)) : asked;
}

/// Of a trial: those of the data, unless the configuration names one.
std::int64_t count_folds(const Configuration& values) {
  const auto& validation = values.data.validation.value;
  const auto* const part = validation ? std::get_if<data::ValidationFraction>(&*validation) : nullptr;
  return part != nullptr && !part->fold ? part->folds.value_or(1) : 1;
}

void print_table(const StudyPlan& plan, const std::vector<TrialRow>& rows) {
  const WatchedMetric objective = plan.search().objective();
  const TrialTable table(plan.space, objective.metric.value, rows.size());
  std::string text = table.header() + "\n";
  for (const TrialRow& row : ranked_rows(rows, objective.less_is_better())) text += table.line(row) + "\n";
  report::print_narrowed(stdout, text);
}

/// Whether model.safetensors has the weights of a run's best epoch.
bool restores_best_epoch(const Configuration& values) {
  return std::ranges::any_of(values.callbacks, [](const auto& callback) {
    const auto* const stopping = std::get_if<EarlyStopping>(&callback.value);
    return stopping != nullptr && stopping->restore_best;
  });
}

void print_best(const StudyPlan& plan, const StudyFolder& folder, const std::vector<TrialRow>& rows) {
  const auto failed = std::ranges::count(rows, TrialStatus::kFailed, &TrialRow::status);
  if (failed > 0) {
    spdlog::warn("{} of {} trials failed; {} says why", failed, rows.size(), folder.journal().string());
  }
  const WatchedMetric objective = plan.search().objective();
  const TrialRow* const best = best_row(rows, objective.less_is_better());
  if (best == nullptr) return;
  const std::string where = best->best_epoch > 0 ? fmt::format("in epoch {}", best->best_epoch)
                                                 : fmt::format("in the mean of {} folds", best->folds.size());
  spdlog::info("best: trial {}, {} {:.6g} {}: {}", best->number, objective.text(), *best->value, where,
               folder.trial(best->number).string());
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

/// What would fail every trial fails the study before the first.
void require_trainable(const CheckedConfiguration& checked, const Machine& machine, const TrialShare& share) {
  pinned_strategy(checked.values(), machine, share);  // its devices exist
  require_data_files(checked, {data::Split::kTrain, data::Split::kValidation, data::Split::kTest});
}

std::string how_to_continue(const TuneArguments& arguments) {
  std::string command = "mirrortrain tune " + launch::quoted(arguments.config);
  for (const std::string& setting : arguments.overrides) command += " --set " + launch::quoted(setting);
  if (arguments.run_dir) command += " --run-dir " + launch::quoted(*arguments.run_dir);
  return command;
}

/// A failure to write the page must not fail the study.
void write_report(const StudyPlan& plan, const StudyFolder& folder, const std::vector<TrialRow>& rows) {
  if (!plan.checked.values().logging.report) return;
  try {
    write_study_report(plan, folder, rows);
  } catch (const std::exception& error) {
    spdlog::warn("no report was written: {}", error.what());
  }
}

/// Writes and prints what a study that is done has found. Returns the exit code.
int show_results(const StudyPlan& plan, const StudyFolder& folder, const std::vector<TrialRow>& rows,
                 const std::optional<std::string>& json_file) {
  const WatchedMetric objective = plan.search().objective();
  // A study that was killed may have no link to the trial that its last result made the best.
  if (const TrialRow* const best = best_row(rows, objective.less_is_better())) folder.link_best(best->number);
  const std::string json = study_json(plan.space, objective, rows, folder.path().string());
  if (json_file && *json_file != "-") write_result(*json_file, json + "\n");
  if (json_file == "-") {
    fmt::print("{}\n", json);
  } else {
    print_table(plan, rows);
  }
  print_best(plan, folder, rows);
  write_report(plan, folder, rows);
  return best_row(rows, objective.less_is_better()) != nullptr ? 0 : 1;
}

}  // namespace

int tune(const TuneArguments& arguments) {
  if (config::is_piped(arguments.config)) {
    throw UsageError("tune reads its configuration again for each trial; give the path of a file");
  }
  const CheckedConfiguration checked = check_configuration(arguments.config, arguments.overrides);
  require_search(checked, arguments.config);
  config::Errors errors;
  SearchSpace space = check_search(checked, arguments.config, arguments.overrides, errors);
  errors.throw_if_any();
  for (const auto& warnings : {checked.warnings, errors.warnings()}) {
    for (const std::string& warning : warnings) spdlog::warn(warning);
  }
  if (arguments.json && *arguments.json != "-") require_not_read(*arguments.json);
  const SearchOptions& search = *checked.values().search;
  const Machine machine = this_machine();
  const TrialShare share = share_of_machine(machine, static_cast<int>(search.parallel), checked.values().strategy);
  require_trainable(checked, machine, share);

  StudyFolder folder(arguments.run_dir.value_or("runs/" + checked.values().name.text + "-study"), checked);
  const std::size_t trials = count_trials(search, space);
  const std::int64_t epochs = checked.values().training.epochs.value_or(0);
  const StudyPlan plan{arguments.config,
                       arguments.overrides,
                       checked,
                       std::move(space),
                       rounds_of(search.pruner.value, trials, epochs),
                       count_folds(checked.values())};
  Journal journal(folder.journal(), plan.space, share);
  if (journal.trials().size() > trials) {
    throw UsageError(fmt::format("search.trials: {} has {} trials already, found {}; give at least as many",
                                 folder.path().string(), journal.trials().size(), trials));
  }
  require_gpus_for(journal.share(), machine, static_cast<int>(search.parallel));
  spdlog::info("study: {}: {} trial{}, {} so far", folder.path().string(), trials, trials == 1 ? "" : "s",
               journal.trials().size());
  const std::optional<int> stopped = Study(plan, folder, journal, arguments.catch_stop_signals()).train();
  if (stopped) {
    spdlog::warn("stopped; continue the study with: {}", how_to_continue(arguments));
    return *stopped;
  }
  return show_results(plan, folder, rows_of(journal.trials(), plan.rounds), arguments.json);
}

}  // namespace mirrortrain::tune
