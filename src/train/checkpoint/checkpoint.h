#pragma once

#include <filesystem>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "data/loading/load.h"
#include "report/jsonl.h"
#include "strategy/strategy.h"
#include "train/checkpoint/checkpoint_folder.h"
#include "train/checkpoint/checkpoint_snapshot.h"
#include "train/checkpoint/run_lock.h"
#include "train/checkpoint/training_state.h"

namespace mirrortrain {

/// Properties that a checkpoint and the run resumed from it must have in common.
struct RunIdentity {
  std::uint64_t seed = 0;
  DataFingerprints data;  ///< empty: any
};

/// Throws UsageError if a checkpoint was saved with other data.
void require_same_data(const CheckpointState& saved, const DataFingerprints& data);
/// Warns if a split for training or validation differs from the one when a run's newest checkpoint was saved.
/// `is_drawn`: whether it is a part of data.train.
void warn_of_changed_data(const std::filesystem::path& checkpoints, data::Split split, const data::Dataset& examples,
                          bool is_drawn);

/// The checkpoints of a run: checkpoints/step-000500/ with model.safetensors (the variables as read outside the
/// replicas), training.safetensors (optimizer slots, accumulated gradients, the `state`, and every copy that can
/// differ) and state.json (the training state, and checksums of all three). A checkpoint appears under its name
/// atomically.
class Checkpoints {
 public:
  /// `folder`: on the chief's machine; also given on the other workers, for errors. `strategy` must outlive it.
  Checkpoints(std::filesystem::path folder, Strategy& strategy, CheckpointNames names, RunIdentity run);
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;
  /// Waits for the checkpoint that is being written.
  ~Checkpoints();

  /// Sets metrics.jsonl, which is synced before a checkpoint is written, and the run folder's lock, which must be held
  /// to save; both must outlive the last save.
  void follow(report::JsonlWriter& events, const RunLock& lock) {
    events_ = &events;
    lock_ = &lock;
  }

  /// Called by every worker; the chief writes, then removes all but the newest `keep` and the newest without NaN or
  /// infinity. Of one worker, a thread writes a copy of the data: the next save, or `finish`, waits for it and throws
  /// its errors. Several wait until all is written, piece by piece. `is_best`: also keeps it as the best epoch's.
  /// Throws Error.
  void save(const TrainingState& state, std::int64_t keep, bool is_best = false);
  /// The first part of a checkpoint saved now that has non-finite values, as named in messages; nullopt if all are
  /// finite. Called by every worker.
  std::optional<std::string> first_non_finite(const TrainingState& state) const {
    return mirrortrain::first_non_finite(strategy_, names_, state);
  }
  /// Waits until everything is saved.
  void finish();

  /// Restores the newest intact checkpoint, which the chief reads for every worker, sets aside newer damaged ones and
  /// removes unfinished ones. The damaged ones, and the one used instead, are logged. nullopt if there is none.
  /// `finite_alone`: also sets aside checkpoints with NaN or infinite values. Throws Error, without changes, if none is
  /// left or one cannot be read.
  std::optional<TrainingState> restore(bool finite_alone = false);
  /// The number of lines in metrics.jsonl when the restored checkpoint was saved.
  std::int64_t events() const { return restored_events_; }

  /// The step of the newest checkpoint saved or restored here; 0: none.
  std::int64_t last_saved() const { return last_saved_; }

  /// For an error that ends the run: the last checkpoint, and how to resume from it. `step`: the last one begun.
  std::string how_to_resume(std::int64_t step);

 private:
  /// What the chief has read; empty on other workers.
  struct Restored {
    std::filesystem::path checkpoint;
    TrainingState state;
    std::optional<OpenCheckpoint> from;
  };
  std::optional<Restored> restore_newest(bool finite_alone);
  TrainingState state_from(const OpenCheckpoint& checkpoint);
  void restore_callbacks(const OpenCheckpoint& checkpoint, CallbackState& state) const;
  void restore_variables(const Restored& restored, bool accumulated);
  void sync_events() const;
  /// `write_to(folders)`: returns whether all numbers are finite.
  void write(std::int64_t step, std::int64_t keep, bool is_best,
             const std::function<bool(const std::vector<std::filesystem::path>& folders)>& write_to) const;
  void remove_old(bool newest_is_finite, std::int64_t keep) const;

  std::filesystem::path folder_;
  Strategy& strategy_;
  CheckpointNames names_;
  RunIdentity run_;
  report::JsonlWriter* events_ = nullptr;
  const RunLock* lock_ = nullptr;
  std::int64_t restored_events_ = 0;
  std::future<void> writing_;
  // Steps of checkpoints that workers other than the chief know of, saved in this process or restored: the last one
  // exists once the chief has taken part in a later step.
  std::int64_t saved_ = 0, last_saved_ = 0;
};

}  // namespace mirrortrain
