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
#include "tune/fold_results.h"
#include "tune/study_hparams.h"
#include "tune/study_results.h"

namespace mirrortrain::tune {

namespace fs = std::filesystem;

Study::Study(const StudyPlan& plan, StudyFolder& folder, StudyData& data, Journal& journal,
             const std::atomic<int>& signal)
    : plan_(plan),
      folder_(folder),
      journal_(journal),
      objective_(plan.search().objective()),
      sampler_(make_sampler(plan.search().sampler, plan.space,
                            plan.search().sampler_seed.value_or(plan.checked.values().seed))),
      table_(plan.space, objective_.metric.value, plan.rounds.front().trials, plan.folds > 1),
      runner_(plan, folder, data, journal.share(), signal) {}

std::optional<int> Study::train() {
  return until_trained([this] {
    for (std::size_t round = 0; round < plan_.rounds.size(); ++round) {
      if (!train_round(round, members_of(round))) return false;
    }
    return true;
  });
}

std::optional<int> Study::train_asked(AskedTrials& asked) {
  return until_trained([&] {
    while (true) {
      asked.read();
      while (runner_.has_room()) {
        const std::optional<TrialRun> run = asked.take_next();
        if (!run) break;
        start(*run);
      }
      asked.answer();
      if (runner_.is_idle() && (runner_.is_stopped() || asked.is_over())) return !runner_.is_stopped();
      await_ends();
    }
  });
}

/// `train_all` returns false if something stopped it.
std::optional<int> Study::until_trained(const std::function<bool()>& train_all) {
  if (plan_.checked.values().logging.tensorboard) {
    // Written once, as it has the time in it: a study's parameters stay the same.
    const fs::path file = folder_.path() / report::kHParamsFile;
    if (!fs::exists(file)) write_file(file, study_hparams(plan_.space, objective_));
    write_missing_hparams();
  }
  try {
    return train_all() ? std::nullopt : runner_.exit_code();
  } catch (const DataChanged&) {
    runner_.stop_all(true);
    // One that was trained further has a result, but no folder any more.
    link_best_trial(folder_, rows_of(journal_.trials(), plan_.rounds), objective_.less_is_better());
    throw;
  } catch (const std::exception&) {
    runner_.stop_all();
    throw;
  }
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
    await_ends();
  }
  return std::ranges::all_of(trials, [&](int number) {
    return number < std::ssize(journal_.trials()) && trial(number).result_of(epochs) != nullptr;
  });
}

void Study::await_ends() {
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  for (const TrialRunner::Ended& ended : runner_.take_ended()) record_run(ended.run, ended.result);
}

/// Starts the run that is next, unless it was trained before. Returns false if its trial has to wait for others.
bool Study::start_next(std::int64_t epochs, const std::vector<int>& trials, std::size_t& next) {
  const auto folds = static_cast<std::size_t>(plan_.folds);
  const int number = trials[next / folds];
  if (number == std::ssize(journal_.trials())) {
    if (!may_suggest(number)) return false;
    journal_.add_trial(suggest(number));
  }
  start({number, epochs, folds > 1 ? static_cast<std::int64_t>(next % folds) + 1 : 0});
  ++next;
  return true;
}

/// Unless the result is known.
void Study::start(const TrialRun& run) {
  const Trial& of = trial(run.trial);
  if (of.result_of(run.epochs) != nullptr) return;
  if (run.fold > 0 && of.fold_of(run.epochs, run.fold) != nullptr) {
    conclude(run.trial, run.epochs);
  } else if (const auto failed = runner_.start(run, of.point)) {
    record_run(run, *failed);
  }
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

void Study::record(int number, const TrialResult& result) {
  journal_.add_result(number, result);
  const std::vector<TrialRow> rows = rows_of(journal_.trials(), plan_.rounds);
  TrialRow row = rows[static_cast<std::size_t>(number)];
  if (row.status == TrialStatus::kPruned) row.status = TrialStatus::kDone;  // with this round
  if (!std::exchange(has_header_, true)) spdlog::info(table_.header());
  spdlog::info(table_.line(row));
  if (!result.is_done) spdlog::warn("trial {} has failed: {}", number + 1, result.reason);
  if (plan_.checked.values().logging.tensorboard) write_hparams(row);
  link_best_trial(folder_, rows, objective_.less_is_better());
}

void Study::write_hparams(const TrialRow& row) const {
  const fs::path file = folder_.hparams(row.number);
  create_folders(file.parent_path());
  write_file(file, trial_hparams(plan_.space, objective_, row));
}

/// Of trials whose result was written just before the study was killed; of a trial that was trained on, the file may be
/// that of an earlier round.
void Study::write_missing_hparams() const {
  for (const TrialRow& row : rows_of(journal_.trials(), plan_.rounds)) {
    if (row.status == TrialStatus::kUnfinished) continue;
    if (trial(row.number - 1).results.size() > 1 || !fs::exists(folder_.hparams(row.number))) write_hparams(row);
  }
}

}  // namespace mirrortrain::tune
