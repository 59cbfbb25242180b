#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "launch/machine_part.h"
#include "train/session/check_configuration.h"
#include "tune/halving.h"
#include "tune/journal.h"
#include "tune/sampler.h"
#include "tune/study_folder.h"
#include "tune/study_rows.h"
#include "tune/trial_process.h"

namespace mirrortrain::tune {

/// What a study searches, and how; the same whenever it is continued.
struct StudyPlan {
  std::string config;  ///< the file that its trials are runs of
  std::vector<std::string> overrides;
  const CheckedConfiguration& checked;
  SearchSpace space;
  std::vector<Round> rounds;

  const SearchOptions& search() const { return *checked.values().search; }
};

/// Trains the trials of a study that are not trained yet, each as a run of its own in a child process.
///
/// Which values a trial gets is a function of the plan alone, whatever ends first: a trial knows the results of the
/// trials up to `parallel` before it, which have to be there before it starts, and the values of all others before it.
class Study {
 public:
  /// All must outlive it. `signal`: 0, or the signal that stops the study.
  Study(const StudyPlan& plan, StudyFolder& folder, Journal& journal, const std::atomic<int>& signal);

  /// Returns 0, or 128 + the signal that stopped it; then every trial in training has saved a checkpoint.
  int train();

 private:
  struct Running {
    int trial = 0;  ///< from 0
    std::int64_t epochs = 0;
    std::size_t part = 0;
    int kills = 0;  ///< how often something has killed it
    std::unique_ptr<TrialProcess> process;
  };

  std::vector<int> members_of(std::size_t round) const;
  void train_round(std::size_t round, const std::vector<int>& trials);
  bool may_suggest(int trial) const;
  Point suggest(int trial) const;
  void start(int trial, std::int64_t epochs, int kills);
  std::vector<std::string> settings_of(int trial, std::int64_t epochs) const;
  void require_unchanged() const;
  void make_room(const std::filesystem::path& folder) const;
  void take_ended();
  void take(const Running& ended, const TrialEnd& end);
  TrialResult result_of(const Running& ended, const TrialEnd& end) const;
  void record(int trial, const TrialResult& result);
  bool is_stopped() const { return signal_ != 0 || stopped_by_trial_ != 0; }
  double loss_of(double value) const { return objective_.less_is_better() ? value : -value; }

  const StudyPlan& plan_;
  StudyFolder& folder_;
  Journal& journal_;
  const std::atomic<int>& signal_;
  const WatchedMetric objective_;
  const Machine machine_;
  const std::unique_ptr<Sampler> sampler_;
  const TrialTable table_;
  std::vector<launch::MachinePart> parts_;
  std::vector<std::size_t> idle_;  ///< parts
  std::vector<Running> running_;
  bool is_passed_on_ = false;
  int stopped_by_trial_ = 0;  ///< the exit code of a trial that somebody else stopped
  bool has_header_ = false;
};

}  // namespace mirrortrain::tune
