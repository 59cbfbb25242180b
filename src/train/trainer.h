#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/feeding/feeder.h"
#include "strategy/strategy.h"
#include "train/checkpoint/checkpoint.h"
#include "train/session/callbacks.h"
#include "train/session/run.h"
#include "train/tensor_statistics.h"
#include "train/training_events.h"

namespace mirrortrain {

/// Options of training. Everything referred to is owned by the caller.
struct TrainerOptions {
  std::int64_t epochs = 0, steps = 0;  ///< 0: no limit
  std::int64_t log_every_steps = 100;
  LoggingOptions logging;             ///< what is logged of the variables
  std::int64_t accumulate_steps = 1;  ///< gradients.accumulate_steps
  std::optional<std::int64_t> checkpoint_every_steps;
  std::int64_t keep_checkpoints = 3;
  std::int64_t batch_size = 0;
  Callbacks callbacks;
  std::optional<std::int64_t> check_replicas_every_steps;
  OnNonFinite on_non_finite = OnNonFinite::kIgnore;  ///< unless kIgnore, throws NonFinite if it cannot continue
  bool shows_progress = false;                       ///< whether progress events are displayed
  std::vector<std::string> workers;                  ///< their names, if there are several
  /// Whether a signal ends an incomplete validation; the validation is repeated after a resume.
  std::function<bool()> is_interrupted = [] { return false; };
};

/// The training loop: steps, events, validation after each epoch, checkpoints.
class Trainer {
 public:
  using Emit = TrainingEvents::Emit;

  /// Called before the first step and after each: returns the signal at which training stops after that step, the same
  /// on every worker, or 0.
  using Stop = std::function<int(std::int64_t step)>;

  /// `validation` may be null.
  Trainer(Strategy& strategy, TrainingSteps steps, const Model& model, const data::Feeder* validation,
          Checkpoints& checkpoints, TrainerOptions options, Emit emit, Stop stop);
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// Trains from `state` to the first limit, or until `stop` returns a signal (then saves a checkpoint). Returns the
  /// final state.
  TrainingState run(TrainingState state);

  /// The sums over a data set, with progress events; nullopt if interrupted by a signal.
  std::optional<StepSums> evaluate(const data::Feeder& examples, std::string_view split);
  /// Throws NonFinite if the loss over a data set is NaN or infinite, unless that is ignored.
  void require_finite(const StepSums& sums, const data::Feeder& examples, std::string_view split) const;

  /// Seconds since the start of the run, including its earlier parts.
  double seconds() const { return events_.seconds(); }
  /// The worker that the others waited for much, since this process began to train.
  std::optional<std::pair<std::string, double>> straggler() const { return events_.straggler(); }
  /// The training state.
  const TrainingState& state() const { return state_; }
  /// The signal that stopped the run; 0 if it reached a limit.
  int stop_signal() const { return stop_signal_; }

 private:
  bool finished() const;
  void train();
  void end_epoch_if_due();
  void step();
  void collect_sums();
  void end_epoch();
  void emit_step();
  void run_callbacks(const report::EpochEvent& epoch);
  void require_equal_replicas();
  void save_checkpoint();
  void note_skipped(std::int64_t step);
  [[noreturn]] void fail_not_finite(std::int64_t step, const std::string& what);

  Strategy& strategy_;
  TrainingSteps steps_;
  const Model& model_;
  const data::Feeder* validation_;
  Checkpoints& checkpoints_;
  TrainerOptions options_;
  TrainingEvents events_;
  TensorStatistics statistics_;
  Stop stop_;

  TrainingState state_;
  bool epoch_ended_ = true;
  bool is_best_ = false;  ///< whether the next checkpoint is the best epoch's
  int stop_signal_ = 0;
  int skipped_in_row_ = 0;
  double learning_rate_ = 0;  ///< of the last step
};

}  // namespace mirrortrain
