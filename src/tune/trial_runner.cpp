#include "tune/trial_runner.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

#include "base/error.h"
#include "config/document.h"
#include "train/checkpoint/checkpoint_folder.h"
#include "train/checkpoint/run_folder.h"
#include "tune/check_search.h"
#include "tune/trial_outcome.h"

namespace mirrortrain::tune {
namespace {

namespace fs = std::filesystem;

/// So often a killed run is resumed: the system may have been short of memory, and the run itself be the reason.
constexpr int kMostKills = 2;
constexpr auto kPause = std::chrono::milliseconds(20);

/// What stops a study stops it at once: each run has its own grace, as its configuration says.
const TerminationOptions kAtOnce;

std::optional<StopRequests::Clock::time_point> end_of(const std::optional<config::Duration>& limit) {
  if (!limit) return std::nullopt;
  return StopRequests::Clock::now() + std::chrono::milliseconds(limit->milliseconds);
}

bool is_stop_signal(int signal) { return signal == SIGINT || signal == SIGTERM || signal == SIGHUP; }

/// Whether it certainly does not exist, rather than that the file system cannot say.
bool is_absent(const fs::path& path) {
  std::error_code none;
  return fs::status(path, none).type() == fs::file_type::not_found;
}

}  // namespace

bool TrialRunner::is_killed(const EndedProcess& one) { return one.end.exit_code == 128 + SIGKILL; }

/// Until it was killed so often that the reason is its own.
bool TrialRunner::is_resumed(const EndedProcess& one) { return is_killed(one) && one.of.kills < kMostKills; }

TrialRunner::TrialRunner(const StudyPlan& plan, const StudyFolder& folder, StudyData& data, const TrialShare& share,
                         const std::atomic<int>& signal)
    : plan_(plan),
      folder_(folder),
      data_(data),
      share_(share),
      requests_(kAtOnce, end_of(plan.checked.values().training.time_limit)),
      machine_(this_machine()),
      objective_(plan.search().objective()),
      processes_(parts_of(machine_, share, static_cast<int>(plan.search().parallel)), launch::ChildOutput::kKept) {
  requests_.follow(signal);
}

int TrialRunner::stop() { return requests_.due(); }

std::optional<int> TrialRunner::exit_code() {
  if (const int by = stop(); by != 0) return exit_code_of(by, plan_.checked.values().termination);
  return stopped_run_;
}

/// The overrides of a run's configuration.
std::vector<std::string> TrialRunner::settings_of(const TrialRun& run, const Point& point) const {
  std::vector<std::string> settings = trial_overrides(plan_.overrides, plan_.space, point);
  if (run.epochs > 0) settings.push_back(fmt::format("training.epochs={}", run.epochs));
  if (run.fold > 0) settings.push_back(fmt::format("data.validation.fold={}", run.fold));
  if (plan_.checked.values().training.time_limit) settings.emplace_back("training.time_limit=null");  // the study's
  config::Errors errors;
  const ReadConfiguration read = read_configuration(plan_.config, settings, errors);
  errors.throw_if_any();
  for (std::string& setting : pinned_strategy(read.values, machine_, share_)) settings.push_back(std::move(setting));
  return settings;
}

/// The runs read the file again: one that was edited meanwhile would give them other values.
void TrialRunner::require_unchanged() const {
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

/// Waits for a process that a killed study has left behind to end, and removes what has trained nothing yet. Returns
/// false if the study was stopped meanwhile.
bool TrialRunner::remove_unfinished_folder(const fs::path& folder) {
  if (is_absent(folder)) return true;
  constexpr int kLooksBeforeWarning = 100;
  for (int look = 0; stop() == 0; ++look) {
    try {
      const RunLock lock(folder);
      const RunFolder run{folder};
      if (is_absent(run.checkpoints()) && is_absent(run.metrics())) fs::remove_all(folder);
      // What stopped the run earlier is not to be taken for what ends it now.
      if (!stopped_by(run.summary()).empty()) fs::remove(run.summary());
      return true;
    } catch (const UsageError& error) {
      if (look == kLooksBeforeWarning) spdlog::warn(error.what());
    }
    std::this_thread::sleep_for(kPause);
  }
  return false;
}

std::optional<TrialResult> TrialRunner::start(const TrialRun& run, const Point& point) {
  data_.require_unchanged();
  return start({run, point});
}

std::optional<TrialResult> TrialRunner::start(Running one) {
  require_unchanged();
  const TrialRun& run = one.run;
  const fs::path folder = folder_of(run);
  if (!remove_unfinished_folder(folder)) return std::nullopt;
  std::vector<std::string> words = {"fit", plan_.config};
  try {
    for (std::string& setting : settings_of(run, one.point)) words.insert(words.end(), {"--set", std::move(setting)});
  } catch (const UsageError& error) {
    const std::string text = error.what();
    TrialResult failed;
    failed.epochs = run.epochs;
    failed.exit_code = UsageError::kExitCode;
    failed.reason = text.substr(0, text.find('\n'));
    return failed;
  }
  words.insert(words.end(), {"--run-dir", folder.string(), "--resume=auto", "-q"});
  running_.emplace(processes_.start(words), std::move(one));
  return std::nullopt;
}

std::vector<TrialRunner::Ended> TrialRunner::take_ended() {
  // As in a run: a limit that is shorter than a trial takes to its first step would keep the study from ever getting
  // on.
  const auto trains = [this](const auto& one) { return fs::exists(RunFolder{folder_of(one.second.run)}.metrics()); };
  if (std::ranges::any_of(running_, trains)) requests_.begin_limit();
  if (const int by = stop(); by != 0 && !std::exchange(is_passed_on_, true)) {
    processes_.signal(by == kTimeLimit ? SIGINT : by);  // a limit has no grace, and neither has SIGINT
  }
  std::vector<EndedProcess> ended;
  for (launch::SideBySide::Ended& one : processes_.take_ended()) {
    EndedProcess of{std::move(running_.extract(one.child).mapped()), std::move(one.end)};
    if (!was_stopped(of)) ended.push_back(std::move(of));
  }
  return ended.empty() ? std::vector<Ended>{} : results_of(std::move(ended));
}

/// The results of runs that have ended by themselves; a killed one is started again instead.
std::vector<TrialRunner::Ended> TrialRunner::results_of(std::vector<EndedProcess> ended) {
  std::vector<Ended> all;
  try {
    // A failure may be that of data that are wrong now.
    const bool are_done = std::ranges::all_of(ended, [](const EndedProcess& one) { return one.end.exit_code == 0; });
    data_.require_unchanged(are_done ? StudyData::Look::kSometimes : StudyData::Look::kNow);
    for (const EndedProcess& one : ended) {
      if (one.end.exit_code == 0) require_data_of_study(one.of);
      if (!is_resumed(one)) all.push_back({one.of.run, result_of(one.of.run, one.end)});
    }
  } catch (const DataChanged&) {
    // What was trained on other data, in part perhaps, is no trial of the study: it is trained anew.
    for (const EndedProcess& one : ended) fs::remove_all(folder_of(one.of.run));
    throw;
  }
  for (EndedProcess& one : ended) {
    if (!is_resumed(one)) continue;
    spdlog::warn("trial {} was killed; resuming it", one.of.run.trial + 1);
    ++one.of.kills;
    start(std::move(one.of));  // its values were right before
  }
  return all;
}

/// The data may have been others for a while, and be the study's again.
void TrialRunner::require_data_of_study(const Running& one) {
  const fs::path folder = folder_of(one.run);
  const auto state = newest_checkpoint_state(RunFolder{folder}.checkpoints());
  if (!state) return;
  data_.require_data_of_run(state->data, one.point, one.run.fold, settings_of(one.run, one.point), folder.string());
}

void TrialRunner::stop_all(bool removes) {
  processes_.signal(SIGINT);
  while (!processes_.is_idle()) {
    for (const launch::SideBySide::Ended& one : processes_.take_ended()) {
      const Running ended = std::move(running_.extract(one.child).mapped());
      if (removes) fs::remove_all(folder_of(ended.run));
    }
    std::this_thread::sleep_for(kPause);
  }
}

/// Whether a signal or a limit has ended the run, so that it has no result.
bool TrialRunner::was_stopped(const EndedProcess& one) {
  // Its summary says whether it was stopped, since termination.exit_code may be any; a signal may also have come before
  // it had one.
  const int code = one.end.exit_code;
  if (!stopped_by(RunFolder{folder_of(one.of.run)}.summary()).empty() || is_stop_signal(code - 128)) {
    if (stop() == 0) stopped_run_ = code;
    return true;
  }
  return is_killed(one) && is_stopped();
}

TrialResult TrialRunner::result_of(const TrialRun& run, const launch::ChildEnd& end) const {
  TrialResult result;
  result.epochs = run.epochs;
  result.exit_code = end.exit_code;
  result.reason = end.reason;
  if (end.exit_code != 0) {
    if (result.reason.empty()) result.reason = fmt::format("its process ended with exit code {}", end.exit_code);
    return result;
  }
  const auto best = best_epoch(RunFolder{folder_of(run)}.metrics(), objective_, run.epochs);
  result.is_done = best.has_value();
  result.reason = best ? "" : fmt::format("no epoch has a finite {}", objective_.text());
  result.value = best ? best->value : 0;
  result.best_epoch = best ? best->epoch : 0;
  return result;
}

}  // namespace mirrortrain::tune
