#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "tune/asked_trials.h"
#include "tune/journal.h"
#include "tune/sampler.h"
#include "tune/study_data.h"
#include "tune/study_folder.h"
#include "tune/study_plan.h"
#include "tune/study_rows.h"
#include "tune/trial_runner.h"

namespace mirrortrain::tune {

/// Trains the trials of a study that are not trained yet, each as a run of its own in a child process, or a run for
/// each fold of the data.
///
/// Which values a trial gets is a function of the plan alone, whatever ends first: a trial knows the results of the
/// trials up to `parallel` before it, which have to be there before it starts, and the values of all others before it.
class Study {
 public:
  /// All must outlive it. `signal`: 0, or the signal that stops the study.
  Study(const StudyPlan& plan, StudyFolder& folder, StudyData& data, Journal& journal, const std::atomic<int>& signal);

  /// Returns the exit code of a study that was stopped, by a signal or training.time_limit; then, as where it throws,
  /// every trial in training has saved a checkpoint. nullopt once all are trained. Throws DataChanged if the data were
  /// changed meanwhile; what was in training then is removed.
  std::optional<int> train();
  /// The same, for the trials that another program asks for; nullopt once it asks for no more.
  std::optional<int> train_asked(AskedTrials& asked);

 private:
  std::optional<int> until_trained(const std::function<bool()>& train_all);
  void write_missing_hparams() const;
  std::vector<int> members_of(std::size_t round) const;
  bool train_round(std::size_t round, const std::vector<int>& trials);
  bool start_next(std::int64_t epochs, const std::vector<int>& trials, std::size_t& next);
  void start(const TrialRun& run);
  void await_ends();
  bool may_suggest(int trial) const;
  Point suggest(int trial) const;
  void record_run(const TrialRun& run, const TrialResult& result);
  void conclude(int number, std::int64_t epochs);
  void record(int trial, const TrialResult& result);
  void write_hparams(const TrialRow& row) const;
  const Trial& trial(int number) const { return journal_.trials()[static_cast<std::size_t>(number)]; }
  double loss_of(double value) const { return objective_.less_is_better() ? value : -value; }

  const StudyPlan& plan_;
  StudyFolder& folder_;
  Journal& journal_;
  const WatchedMetric objective_;
  const std::unique_ptr<Sampler> sampler_;  ///< null if another program chooses
  const TrialTable table_;
  TrialRunner runner_;
  bool has_header_ = false;
};

}  // namespace mirrortrain::tune
