#include "tune/study.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>
#include <utility>

#include "base/files.h"
#include "report/tensorboard_hparams.h"
#include "tune/study_hparams.h"

namespace mirrortrain::tune {

namespace fs = std::filesystem;

Study::Study(const StudyPlan& plan, StudyFolder& folder, Journal& journal, const std::atomic<int>& signal)
    : plan_(plan),
      folder_(folder),
      journal_(journal),
      objective_(plan.search().objective()),
      sampler_(make_sampler(plan.search().sampler, plan.space,
                            plan.search().sampler_seed.value_or(plan.checked.values().seed))),
      table_(plan.space, objective_.metric.value, plan.rounds.front().trials),
      runner_(plan, folder, journal.share(), signal) {}

std::optional<int> Study::train() {
  if (plan_.checked.values().logging.tensorboard) {
    write_file(folder_.path() / report::kHParamsFile, study_hparams(plan_.space, objective_));
  }
  try {
    for (std::size_t round = 0; round < plan_.rounds.size(); ++round) {
      if (!train_round(round, members_of(round))) return runner_.exit_code();
    }
  } catch (const std::exception&) {
    runner_.stop_all();
    throw;
  }
  return std::nullopt;
}

/// The first round has all trials, each other one the best of the round before it.
std::vector<int> Study::members_of(std::size_t round) const {
  if (round == 0) {
    std::vector<int> all(plan_.rounds[0].trials);
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  std::vector<Ranked> ranked;
  for (const int number : members_of(round - 1)) {
    const TrialResult* const result = trial(number).result_of(plan_.rounds[round - 1].epochs);
    if (result != nullptr && result->is_done) ranked.push_back({number, loss_of(result->value)});
  }
  return best_trials(ranked, plan_.rounds[round].trials);
}

/// Returns false if something stopped it before all had their results.
bool Study::train_round(std::size_t round, const std::vector<int>& trials) {
  const std::int64_t epochs = plan_.rounds[round].epochs;
  if (plan_.rounds.size() > 1 && !trials.empty()) {
    spdlog::info("round {} of {}: {} trial{}, {} epoch{}", round + 1, plan_.rounds.size(), trials.size(),
                 trials.size() == 1 ? "" : "s", epochs, epochs == 1 ? "" : "s");
  }
  std::size_t next = 0;  // of all runs, a trial's folds in turn
  const std::size_t runs = trials.size() * static_cast<std::size_t>(plan_.folds);
  while (true) {
    while (next < runs && runner_.has_room() && start_next(epochs, trials, next)) {
    }
    if (runner_.is_idle() && (runner_.is_stopped() || next == runs)) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    for (const TrialRunner::Ended& ended : runner_.take_ended()) record_run(ended.run, ended.result);
  }
  return std::ranges::all_of(trials, [&](int number) {
    return number < std::ssize(journal_.trials()) && trial(number).result_of(epochs) != nullptr;
  });
}

/// Starts the run that is next, unless it was trained before. Returns false if its trial has to wait for others.
bool Study::start_next(std::int64_t epochs, const std::vector<int>& trials, std::size_t& next) {
  const auto folds = static_cast<std::size_t>(plan_.folds);
  const int number = trials[next / folds];
  if (number == std::ssize(journal_.trials())) {
    if (!may_suggest(number)) return false;
    journal_.add_trial(suggest(number));
  }
  const TrialRun run{number, epochs, folds > 1 ? static_cast<std::int64_t>(next % folds) + 1 : 0};
  ++next;
  if (trial(number).result_of(epochs) != nullptr) return true;
  if (run.fold > 0 && trial(number).fold_of(epochs, run.fold) != nullptr) {
    conclude(number, epochs);
  } else if (const auto failed = runner_.start(run, trial(number).point)) {
    record_run(run, *failed);
  }
  return true;
}

/// Whether all is known that the trial's values depend on.
bool Study::may_suggest(int number) const {
  if (!sampler_->learns()) return true;
  for (std::int64_t before = 0; before <= number - plan_.search().parallel; ++before) {
    if (trial(static_cast<int>(before)).result_of(plan_.rounds[0].epochs) == nullptr) return false;
  }
  return true;
}

Point Study::suggest(int number) const {
  std::vector<Observation> before;
  for (int other = 0; other < number; ++other) {
    Observation& observation = before.emplace_back(Observation{trial(other).point});
    if (other > number - plan_.search().parallel) continue;  // it may still be training, even if it is not
    const TrialResult* const result = trial(other).result_of(plan_.rounds[0].epochs);
    if (result == nullptr) continue;
    observation.state = result->is_done ? Observation::State::kDone : Observation::State::kFailed;
    observation.loss = loss_of(result->value);
  }
  return sampler_->suggest(number, before);
}

void Study::record_run(const TrialRun& run, const TrialResult& result) {
  if (run.fold == 0) return record(run.trial, result);
  journal_.add_fold(run.trial, run.fold, result);
  conclude(run.trial, run.epochs);
}

/// Records a trial's result once that of each fold is known, or one has failed.
void Study::conclude(int number, std::int64_t epochs) {
  if (trial(number).result_of(epochs) != nullptr) return;  // another fold has failed
  std::vector<const TrialResult*> folds;
  for (std::int64_t fold = 1; fold <= plan_.folds; ++fold) folds.push_back(trial(number).fold_of(epochs, fold));
  const bool are_all_known = std::ranges::count(folds, nullptr) == 0;
  const bool has_failed =
      std::ranges::any_of(folds, [](const TrialResult* fold) { return fold != nullptr && !fold->is_done; });
  if (are_all_known || has_failed) record(number, result_of_folds(folds));
}

TrialResult result_of_folds(const std::vector<const TrialResult*>& folds) {
  TrialResult all;
  all.is_done = true;
  for (std::size_t i = 0; i < folds.size(); ++i) {
    if (folds[i] == nullptr) continue;
    if (!folds[i]->is_done) {
      TrialResult failed = *folds[i];
      failed.reason = fmt::format("fold {}: {}", i + 1, failed.reason);
      return failed;
    }
    all.epochs = folds[i]->epochs;
    all.folds.push_back(folds[i]->value);
  }
  all.value = std::accumulate(all.folds.begin(), all.folds.end(), 0.0) / static_cast<double>(all.folds.size());
  return all;
}

void Study::record(int number, const TrialResult& result) {
  journal_.add_result(number, result);
  const std::vector<TrialRow> rows = rows_of(journal_.trials(), plan_.rounds);
  TrialRow row = rows[static_cast<std::size_t>(number)];
  if (row.status == TrialStatus::kPruned) row.status = TrialStatus::kDone;  // with this round
  if (!std::exchange(has_header_, true)) spdlog::info(table_.header());
  spdlog::info(table_.line(row));
  if (!result.is_done) spdlog::warn("trial {} has failed: {}", number + 1, result.reason);
  if (plan_.checked.values().logging.tensorboard) write_hparams(row);
  if (const TrialRow* const best = best_row(rows, objective_.less_is_better())) folder_.link_best(best->number);
}

void Study::write_hparams(const TrialRow& row) const {
  for (std::int64_t fold = plan_.folds > 1 ? 1 : 0; fold <= (plan_.folds > 1 ? plan_.folds : 0); ++fold) {
    const fs::path run = runner_.folder_of({row.number - 1, row.epochs, fold});
    if (fs::exists(run)) write_file(run / report::kHParamsFile, trial_hparams(plan_.space, row));
  }
}

}  // namespace mirrortrain::tune
