#include "tune/study.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <numeric>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "config/document.h"
#include "report/tensorboard_hparams.h"
#include "train/checkpoint/run_folder.h"
#include "tune/check_search.h"
#include "tune/study_hparams.h"
#include "tune/trial_outcome.h"

namespace mirrortrain::tune {
namespace {

namespace fs = std::filesystem;

constexpr auto kBetweenLooks = std::chrono::milliseconds(20);
/// So often a killed trial is resumed: the system may have been short of memory, or its own doing be the reason.
constexpr int kMostKills = 2;

}  // namespace

Study::Study(const StudyPlan& plan, StudyFolder& folder, Journal& journal, const std::atomic<int>& signal)
    : plan_(plan),
      folder_(folder),
      journal_(journal),
      signal_(signal),
      objective_(plan.search().objective()),
      machine_(this_machine()),
      sampler_(
          make_sampler(plan.search().sampler, plan.space, plan.search().seed.value_or(plan.checked.values().seed))),
      table_(plan.space, objective_.metric.value, plan.rounds.front().trials),
      parts_(parts_of(machine_, journal.share(), static_cast<int>(plan.search().parallel))),
      idle_(parts_.size()) {
  std::iota(idle_.rbegin(), idle_.rend(), std::size_t{0});
}

int Study::train() {
  if (plan_.checked.values().logging.tensorboard) {
    write_file(folder_.path() / report::kHParamsFile, study_hparams(plan_.space, objective_));
  }
  for (std::size_t round = 0; round < plan_.rounds.size() && !is_stopped(); ++round) {
    train_round(round, members_of(round));
  }
  return signal_ != 0 ? 128 + signal_ : stopped_by_trial_;
}

/// The first round has all trials, each other one the best of the round before it.
std::vector<int> Study::members_of(std::size_t round) const {
  if (round == 0) {
    std::vector<int> all(plan_.rounds[0].trials);
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  std::vector<Ranked> ranked;
  for (const int trial : members_of(round - 1)) {
    const TrialResult* const result =
        journal_.trials()[static_cast<std::size_t>(trial)].result_of(plan_.rounds[round - 1].epochs);
    if (result != nullptr && result->is_done) ranked.push_back({trial, loss_of(result->value)});
  }
  return best_trials(ranked, plan_.rounds[round].trials);
}

void Study::train_round(std::size_t round, const std::vector<int>& trials) {
  const std::int64_t epochs = plan_.rounds[round].epochs;
  if (plan_.rounds.size() > 1 && !trials.empty()) {
    spdlog::info("round {} of {}: {} trial{}, {} epoch{}", round + 1, plan_.rounds.size(), trials.size(),
                 trials.size() == 1 ? "" : "s", epochs, epochs == 1 ? "" : "s");
  }
  std::size_t next = 0;
  while (true) {
    while (!is_stopped() && next < trials.size() && !idle_.empty()) {
      const int trial = trials[next];
      if (trial == std::ssize(journal_.trials())) {
        if (!may_suggest(trial)) break;
        journal_.add_trial(suggest(trial));
      }
      ++next;
      if (journal_.trials()[static_cast<std::size_t>(trial)].result_of(epochs) == nullptr) start(trial, epochs, 0);
    }
    if (running_.empty() && (is_stopped() || next == trials.size())) return;
    std::this_thread::sleep_for(kBetweenLooks);
    if (signal_ != 0 && !std::exchange(is_passed_on_, true)) {
      for (const Running& one : running_) one.process->signal(signal_);
    }
    take_ended();
  }
}

/// Whether all is known that the trial's values depend on.
bool Study::may_suggest(int trial) const {
  if (!sampler_->learns()) return true;
  const std::int64_t epochs = plan_.rounds[0].epochs;
  for (std::int64_t before = 0; before <= trial - plan_.search().parallel; ++before) {
    if (journal_.trials()[static_cast<std::size_t>(before)].result_of(epochs) == nullptr) return false;
  }
  return true;
}

Point Study::suggest(int trial) const {
  std::vector<Observation> before;
  for (int other = 0; other < trial; ++other) {
    const Trial& known = journal_.trials()[static_cast<std::size_t>(other)];
    Observation& observation = before.emplace_back(Observation{known.point});
    if (other > trial - plan_.search().parallel) continue;  // it may still be training, even if it is not
    const TrialResult* const result = known.result_of(plan_.rounds[0].epochs);
    if (result == nullptr) continue;
    observation.state = result->is_done ? Observation::State::kDone : Observation::State::kFailed;
    observation.loss = loss_of(result->value);
  }
  return sampler_->suggest(trial, before);
}

/// The overrides of a trial's run.
std::vector<std::string> Study::settings_of(int trial, std::int64_t epochs) const {
  std::vector<std::string> settings =
      trial_overrides(plan_.overrides, plan_.space, journal_.trials()[static_cast<std::size_t>(trial)].point);
  if (epochs > 0) settings.push_back(fmt::format("training.epochs={}", epochs));
  config::Errors errors;
  const ReadConfiguration read = read_configuration(plan_.config, settings, errors);
  errors.throw_if_any();
  for (std::string& setting : pinned_strategy(read.values, machine_, journal_.share())) {
    settings.push_back(std::move(setting));
  }
  return settings;
}

/// The trials read the file again: one that was edited meanwhile would give them other values.
void Study::require_unchanged() const {
  config::Errors errors;
  const ReadConfiguration now = read_configuration(plan_.config, plan_.overrides, errors);
  errors.throw_if_any();
  const std::string difference = first_difference(config::Codec<Configuration>::show(plan_.checked.values()),
                                                  config::Codec<Configuration>::show(now.values), {});
  if (difference.empty()) return;
  throw Error(
      fmt::format("{} was changed while the study was running: {}; change it back, and `mirrortrain tune` "
                  "continues the study",
                  plan_.config, difference));
}

/// Waits for a process that a killed study has left behind to end, and removes what is not a run yet.
void Study::make_room(const fs::path& folder) const {
  if (!fs::exists(folder)) return;
  constexpr int kLooksBeforeWarning = 100;
  for (int look = 0; signal_ == 0; ++look) {
    try {
      const RunLock lock(folder);
      break;
    } catch (const UsageError& error) {
      if (look == kLooksBeforeWarning) spdlog::warn(error.what());
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
  if (!RunFolder{folder}.exists()) fs::remove_all(folder);
}

void Study::start(int trial, std::int64_t epochs, int kills) {
  require_unchanged();
  const fs::path folder = folder_.trial(trial + 1);
  make_room(folder);
  std::vector<std::string> words = {"fit", plan_.config};
  try {
    for (std::string& setting : settings_of(trial, epochs)) words.insert(words.end(), {"--set", std::move(setting)});
  } catch (const UsageError& error) {  // values that are only wrong together
    const std::string text = error.what();
    return record(trial, {epochs, false, 0, 0, UsageError::kExitCode, text.substr(0, text.find('\n'))});
  }
  words.insert(words.end(), {"--run-dir", folder.string(), "--resume=auto", "-q"});
  const std::size_t part = idle_.back();
  running_.push_back({trial, epochs, part, kills, std::make_unique<TrialProcess>(words, parts_[part])});
  idle_.pop_back();
}

void Study::take_ended() {
  for (std::size_t i = 0; i < running_.size();) {
    const std::optional<TrialEnd> end = running_[i].process->take_end();
    if (!end) {
      ++i;
      continue;
    }
    const Running ended = std::move(running_[i]);
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    idle_.push_back(ended.part);
    take(ended, *end);
  }
}

void Study::take(const Running& ended, const TrialEnd& end) {
  const auto is_stop = [&](int signal) { return end.exit_code == 128 + signal; };
  if (is_stop(SIGINT) || is_stop(SIGTERM) || is_stop(SIGHUP)) {  // it has saved a checkpoint
    if (signal_ == 0) stopped_by_trial_ = end.exit_code;
    return;
  }
  if (is_stop(SIGKILL)) {
    if (is_stopped()) return;
    if (ended.kills < kMostKills) {
      spdlog::warn("trial {} was killed; resuming it", ended.trial + 1);
      return start(ended.trial, ended.epochs, ended.kills + 1);
    }
  }
  record(ended.trial, result_of(ended, end));
}

TrialResult Study::result_of(const Running& ended, const TrialEnd& end) const {
  TrialResult result;
  result.epochs = ended.epochs;
  result.exit_code = end.exit_code;
  result.reason = end.reason;
  if (end.exit_code != 0) {
    if (result.reason.empty()) result.reason = fmt::format("its process ended with exit code {}", end.exit_code);
    return result;
  }
  const auto best = best_epoch(RunFolder{folder_.trial(ended.trial + 1)}.metrics(), objective_);
  result.is_done = best.has_value();
  result.reason = best ? "" : fmt::format("no epoch has a finite {}", objective_.text());
  result.value = best ? best->value : 0;
  result.best_epoch = best ? best->epoch : 0;
  return result;
}

void Study::record(int trial, const TrialResult& result) {
  journal_.add_result(trial, result);
  const std::vector<TrialRow> rows = rows_of(journal_.trials(), plan_.rounds);
  TrialRow row = rows[static_cast<std::size_t>(trial)];
  if (row.status == TrialStatus::kPruned) row.status = TrialStatus::kDone;  // with this round
  if (!std::exchange(has_header_, true)) spdlog::info(table_.header());
  spdlog::info(table_.line(row));
  const fs::path run = folder_.trial(row.number);
  if (plan_.checked.values().logging.tensorboard && fs::exists(run)) {
    write_file(run / report::kHParamsFile, trial_hparams(plan_.space, row));
  }
  if (!result.is_done) spdlog::warn("trial {} has failed: {}", trial + 1, result.reason);
  if (const TrialRow* const best = best_row(rows, objective_.less_is_better())) folder_.link_best(best->number);
}

}  // namespace mirrortrain::tune
