#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launch/side_by_side.h"
#include "train/stop_requests.h"
#include "tune/journal.h"
#include "tune/study_data.h"
#include "tune/study_folder.h"
#include "tune/study_plan.h"

namespace mirrortrain::tune {

/// A run of a trial for so many epochs.
struct TrialRun {
  int trial = 0;            ///< from 0
  std::int64_t epochs = 0;  ///< 0: as the configuration says
  std::int64_t fold = 0;    ///< from 1; 0: the data have no folds
};

/// Trains runs of a study's trials in child processes, several at a time, each on its part of the machine. A run that
/// was begun earlier resumes from its checkpoint.
class TrialRunner {
 public:
  /// All must outlive it. `signal`: 0, or the signal that stops the study, which is passed on. training.time_limit is
  /// the whole study's, from now on, and counts once a trial trains.
  TrialRunner(const StudyPlan& plan, const StudyFolder& folder, StudyData& data, const TrialShare& share,
              const std::atomic<int>& signal);

  /// Whether a part of the machine is idle, and nothing has stopped the study.
  bool has_room() { return !is_stopped() && processes_.has_room(); }
  bool is_idle() const { return processes_.is_idle(); }
  bool is_stopped() { return stop() != 0 || stopped_run_; }
  /// The exit code of a study that was stopped: as a run's (exit_code_of), or that of a run that somebody else stopped;
  /// nullopt if nothing has stopped it.
  std::optional<int> exit_code();

  /// Starts a run of the trial at `point`; there has to be room. Returns its failure where the values are only wrong
  /// together. Throws Error if the configuration's file was changed since this process began, DataChanged if the data
  /// were.
  std::optional<TrialResult> start(const TrialRun& run, const Point& point);

  struct Ended {
    TrialRun run;
    TrialResult result;
  };
  /// The runs that have ended since the last call; not those that the study's stop has ended. Throws DataChanged if the
  /// data were changed meanwhile, or were others while one of them was trained; all that have ended are removed then.
  std::vector<Ended> take_ended();

  /// Stops all runs, each with a checkpoint, and waits for them. `removes`: also removes their folders.
  void stop_all(bool removes = false);

  /// The folder of a run.
  std::filesystem::path folder_of(const TrialRun& run) const { return folder_.run(run.trial + 1, run.fold).path; }

 private:
  struct Running {
    TrialRun run;
    Point point;
    int kills = 0;  ///< how often something has killed it
  };

  /// One whose process has ended.
  struct EndedProcess {
    Running of;
    launch::ChildEnd end;
  };

  static bool is_killed(const EndedProcess& one);
  static bool is_resumed(const EndedProcess& one);
  std::optional<TrialResult> start(Running one);
  std::vector<std::string> settings_of(const TrialRun& run, const Point& point) const;
  void require_unchanged() const;
  bool remove_unfinished_folder(const std::filesystem::path& folder);
  bool was_stopped(const EndedProcess& one);
  std::vector<Ended> results_of(std::vector<EndedProcess> ended);
  void require_data_of_study(const Running& one);
  TrialResult result_of(const TrialRun& run, const launch::ChildEnd& end) const;
  /// What stops the study: a signal, kTimeLimit, or 0.
  int stop();

  const StudyPlan& plan_;
  const StudyFolder& folder_;
  StudyData& data_;
  const TrialShare share_;
  StopRequests requests_;
  const Machine machine_;
  const WatchedMetric objective_;
  launch::SideBySide processes_;
  std::map<int, Running> running_;  ///< by the numbers of their processes
  bool is_passed_on_ = false;
  std::optional<int> stopped_run_;  ///< the exit code of a run that somebody else stopped
};

}  // namespace mirrortrain::tune
