#include "tune/tune.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "launch/shell.h"
#include "report/console.h"
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

/// From the best to the worst, as far as they were trained; those without a value last.
std::vector<TrialRow> ranked(std::vector<TrialRow> rows, bool less_is_better) {
  const auto rank = [&](const TrialRow& row) {
    return std::tuple(!row.value, -row.epochs, less_is_better ? row.value.value_or(0) : -row.value.value_or(0));
  };
  std::ranges::stable_sort(rows, {}, rank);
  return rows;
}

void print_table(const StudyPlan& plan, const std::vector<TrialRow>& rows) {
  const WatchedMetric objective = plan.search().objective();
  const TrialTable table(plan.space, objective.metric.value, rows.size());
  std::string text = table.header() + "\n";
  for (const TrialRow& row : ranked(rows, objective.less_is_better())) text += table.line(row) + "\n";
  report::print_narrowed(stdout, text);
}

void print_best(const StudyPlan& plan, const StudyFolder& folder, const std::vector<TrialRow>& rows) {
  const auto failed = std::ranges::count(rows, TrialStatus::kFailed, &TrialRow::status);
  if (failed > 0) {
    spdlog::warn("{} of {} trials failed; {} says why", failed, rows.size(), folder.journal().string());
  }
  const WatchedMetric objective = plan.search().objective();
  const TrialRow* const best = best_row(rows, objective.less_is_better());
  if (best == nullptr) return;
  spdlog::info("best: trial {}, {} {} in epoch {}: {}", best->number, objective.text(), *best->value, best->best_epoch,
               folder.trial(best->number).string());
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
  for (const std::string& warning : checked.warnings) spdlog::warn(warning);
  const SearchOptions& search = *checked.values().search;
  const TrialShare share = share_of_machine(this_machine(), static_cast<int>(search.parallel));

  const fs::path path =
      arguments.run_dir ? fs::path(*arguments.run_dir) : fs::path("runs") / (checked.values().name.text + "-study");
  StudyFolder folder(path, checked);
  const std::size_t trials = count_trials(search, space);
  const std::int64_t epochs = checked.values().training.epochs.value_or(0);
  const StudyPlan plan{arguments.config, arguments.overrides, checked, std::move(space),
                       rounds_of(search.pruner.value, trials, epochs)};
  Journal journal(folder.journal(), plan.space, share);
  spdlog::info("study: {}: {} trial{}, {} so far", path.string(), trials, trials == 1 ? "" : "s",
               journal.trials().size());
  const int stopped = Study(plan, folder, journal, arguments.catch_stop_signals()).train();
  const std::vector<TrialRow> rows = rows_of(journal.trials(), plan.rounds);
  if (stopped != 0) {
    spdlog::warn("stopped; continue the study with: mirrortrain tune {}{}", launch::quoted(arguments.config),
                 arguments.run_dir ? " --run-dir " + launch::quoted(*arguments.run_dir) : "");
    return stopped;
  }
  write_study_report(plan, folder, rows);
  const std::string json = study_json(plan.space, search.objective(), rows, path.string());
  if (arguments.json && *arguments.json != "-") write_result(*arguments.json, json + "\n");
  if (arguments.json == "-") {
    fmt::print("{}\n", json);
  } else {
    print_table(plan, rows);
  }
  print_best(plan, folder, rows);
  return best_row(rows, search.objective().less_is_better()) != nullptr ? 0 : 1;
}

}  // namespace mirrortrain::tune
