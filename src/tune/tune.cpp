#include "tune/tune.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "launch/shell.h"
#include "train/session/check_configuration.h"
#include "train/session/check_data.h"
#include "tune/check_search.h"
#include "tune/study.h"
#include "tune/study_results.h"

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

/// As many as there are combinations of values, if fewer: the same values again would give the same result.
std::size_t count_trials(const SearchOptions& search, const SearchSpace& space) {
  const std::size_t asked = search.trials ? static_cast<std::size_t>(*search.trials) : kMostCombinations;
  if (search.sampler == SearchSampler::kExternal) return asked;
  const std::size_t combinations = count_combinations(space, asked).value_or(asked);
  if (search.trials && combinations < asked) {
    spdlog::info("search.trials: the parameters have {} combinations of values, so that there are as many trials",
                 combinations);
  }
  return combinations;
}

/// Of a trial: those of the data, unless the configuration names one.
std::int64_t count_folds(const Configuration& values) {
  const auto* const part = values.data.part_of_train();
  return part != nullptr && !part->fold ? part->folds.value_or(1) : 1;
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
  const bool is_asked = checked.values().search->sampler == SearchSampler::kExternal;
  if (is_asked && arguments.json == "-") {
    throw UsageError(
        "--json -: with sampler: external stdout has a line of JSON for each trial already; name a file for all of "
        "them, or leave it out");
  }
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
  StudyData data(plan);
  folder.begin(checked);
  Journal journal(folder.journal(), plan.space, share, data.text());
  data.require_same(journal.data(), folder.path().string());
  if (journal.trials().size() > trials) {
    throw UsageError(fmt::format("search.trials: {} has {} trials already, found {}; give at least as many",
                                 folder.path().string(), journal.trials().size(), trials));
  }
  require_gpus_for(journal.share(), machine, static_cast<int>(search.parallel));
  const std::string length = is_asked ? "trials as lines of JSON on stdin ask for them"
                                      : fmt::format("{} trial{}", trials, trials == 1 ? "" : "s");
  spdlog::info("study: {}: {}, {} so far", folder.path().string(), length, journal.trials().size());
  Study study(plan, folder, data, journal, arguments.catch_stop_signals());
  std::optional<int> stopped;
  if (is_asked) {
    AskedTrials asked(plan, folder, journal, STDIN_FILENO, STDOUT_FILENO);
    stopped = study.train_asked(asked);
  } else {
    stopped = study.train();
  }
  if (stopped) {
    spdlog::warn("stopped; continue the study with: {}", how_to_continue(arguments));
    return *stopped;
  }
  return show_results(plan, folder, rows_of(journal.trials(), plan.rounds), arguments.json);
}

}  // namespace mirrortrain::tune
