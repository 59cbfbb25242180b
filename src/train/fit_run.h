#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "report/console.h"
#include "report/event.h"
#include "report/page/page.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/run_folder.h"
#include "train/checkpoint/run_lock.h"
#include "train/fit.h"
#include "train/runs/summary.h"
#include "train/session/check_configuration.h"
#include "train/session/run.h"
#include "train/session/run_cluster.h"
#include "train/stop_requests.h"
#include "train/trainer.h"

namespace mirrortrain {

/// A run from its configuration to its end, or one generation of an elastic run's tasks.
class FitRun {
 public:
  /// All must outlive it. `stop_requests`: null for a dry run.
  FitRun(const FitArguments& arguments, const CheckedConfiguration& checked, StopRequests* stop_requests,
         const rpc::Generation& generation = {})
      : arguments_(arguments), checked_(checked), stop_requests_(stop_requests), generation_(generation) {}
  FitRun(const FitRun&) = delete;
  FitRun& operator=(const FitRun&) = delete;
  /// A failure elsewhere aborts the strategy, which is gone then.
  ~FitRun() {
    if (cluster_) cluster_->control().on_failure({});
  }

  /// Returns the exit code; nothing if the run continues with the next generation.
  std::optional<int> run();

  // For an elastic run, also after `run` has thrown:
  /// Whether the run continues: another task was lost, or has come back.
  bool regroups() const;
  rpc::Generation next_generation() const;
  /// Whether the task that was lost is this one, to the others.
  bool is_lost_itself() const { return cluster_ && cluster_->control().is_lost_itself(); }
  /// Whether the run has progressed: a checkpoint was saved after the one that it began from.
  bool has_progressed() const { return checkpoints_ && checkpoints_->last_saved() > first_step_; }
  /// Empty if there is none yet.
  const RunFolder& folder() const { return folder_; }

 private:
  std::string command() const;
  bool take_resumes() const;
  std::optional<int> run_to_the_end();
  void train(const TrainingState& state);
  void notify_others(const std::exception& error) const;
  [[noreturn]] void end_with(const std::exception& error);
  [[noreturn]] void end_stalled(const std::string& what);
  const Configuration& values() const { return checked_.values(); }
  /// Only the chief writes a run folder, events and results.
  bool is_chief() const {
    if (cluster_) return cluster_->spec().is_chief();
    return !checked_.cluster || checked_.cluster->is_chief();
  }
  void warn() const;
  void log_header() const;
  std::string task_text() const;
  std::string table_of_variables() const;
  void prepare();
  bool open_folder();
  void check_folder() const;
  void require_data_of_run(const Run& run) const;
  bool open_folder_as_chief();
  void write_configuration() const;
  void log_distribution() const;
  TrainingState first_state();
  report::RunLength run_length() const;
  void open_writers(const TrainingState& state);
  void emit(const report::Event& event);
  bool uses_averages(const TrainingState& state) const;
  void take_averages();
  void restore_best(const TrainingState& state);
  void finish(const TrainingState& state);
  bool write_report(const std::function<void(report::RunPage& page)>& add_predictions = {}) const;
  std::function<void(report::RunPage& page)> predictions_of(const TrainingState& state,
                                                            const StoredTensors& weights) const;
  void emit_pictures(const std::function<report::PicturesEvent()>& make);
  void suggest_commands(bool has_report) const;
  void print_profile(std::int64_t last_step) const;
  std::string how_to_resume() const;
  void log_results(const RunResult& result) const;

  const FitArguments& arguments_;
  const CheckedConfiguration& checked_;
  StopRequests* const stop_requests_;
  const rpc::Generation generation_;
  bool resumes_ = false;                 ///< as the chief decides
  std::int64_t first_step_ = 0;          ///< the step after which it began
  int stop_signal_ = 0;                  ///< or another number of stop_requests.h
  std::unique_ptr<RunCluster> cluster_;  ///< null on one machine
  Run run_;
  RunLock lock_;
  RunFolder folder_;
  std::atomic<bool> has_folder_ = false;  ///< for the thread that watches for reads that hang
  std::vector<std::unique_ptr<report::Writer>> writers_;
  report::JsonlWriter* events_ = nullptr;  ///< among them
  std::unique_ptr<Checkpoints> checkpoints_;
  std::optional<Trainer> trainer_;
};

}  // namespace mirrortrain
