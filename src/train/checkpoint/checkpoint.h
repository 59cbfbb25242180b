#pragma once

#include <filesystem>
#include <future>
#include <optional>
#include <string>

#include "data/loading/load.h"
#include "report/jsonl.h"
#include "strategy/strategy.h"
#include "train/checkpoint/checkpoint_folder.h"
#include "train/checkpoint/checkpoint_snapshot.h"
#include "train/checkpoint/run_lock.h"
#include "train/checkpoint/training_state.h"

namespace mirrortrain {

/// What a checkpoint must have in common with the run that is resumed from it.
struct RunIdentity {
  std::uint64_t seed = 0;
  DataFingerprints data;  ///< empty: any
};

/// Throws UsageError where a checkpoint was saved with other data than these.
void require_same_data(const CheckpointState& saved, const DataFingerprints& data);
/// Warns where a split for training or validation is not as it was when a run's newest checkpoint was saved.
/// `is_drawn`: whether it is a part of data.train.
void warn_of_changed_data(const std::filesystem::path& checkpoints, data::Split split, const data::Dataset& examples,
                          bool is_drawn);

/// The checkpoints of a run: checkpoints/step-000500/ with model.safetensors (what reading the variables gives),
/// training.safetensors (optimizer slots, accumulated gradients, the `state`, and every copy that can differ) and
/// state.json (where training stands, and checksums of all three). A checkpoint appears under its name complete or not
/// at all.
class Checkpoints {
 public:
  /// `folder`: of the chief's machine, on every worker, which names it in errors. `strategy` must outlive it.
  Checkpoints(std::filesystem::path folder, Strategy& strategy, CheckpointNames names, RunIdentity run);
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;
  /// Waits for the one that is being written.
  ~Checkpoints();

  /// metrics.jsonl, which is synced before a checkpoint is written, and the run folder's lock, without which nothing is
  /// saved; both must outlive the last save's end.
  void follow(report::JsonlWriter& events, const RunLock& lock) {
    events_ = &events;
    lock_ = &lock;
  }

  /// Every worker calls it, and the chief writes, then removes all but the newest `keep`, and the newest without NaN or
  /// infinity. On one machine a thread writes a copy of what is to be saved: the next save, or `finish`, waits for it
  /// and throws what went wrong. `is_best`: it is the best epoch's, and is kept as such too. Throws Error.
  void save(const TrainingState& state, std::int64_t keep, bool is_best = false);
  /// What of all that a checkpoint would hold now is not finite, as messages call it; nullopt where nothing is. Every
  /// worker calls it.
  std::optional<std::string> first_non_finite(const TrainingState& state) const {
    return mirrortrain::first_non_finite(strategy_, names_, state);
  }
  /// Waits until all is saved.
  void finish();

  /// Restores the newest one that is whole, which the chief reads for every worker, sets damaged ones newer than it
  /// aside and removes unfinished ones. Damaged ones, and the one that is used instead, are named in the log. nullopt
  /// where there is none. `finite_alone`: those with NaN or infinite values are set aside too. Throws Error, changing
  /// nothing, where none is left or one cannot be read.
  std::optional<TrainingState> restore(bool finite_alone = false);
  /// How many lines metrics.jsonl had when the one that was restored was saved.
  std::int64_t events() const { return restored_events_; }

  /// The step of the newest that was saved or restored here; 0: none.
  std::int64_t last_saved() const { return last_saved_; }

  /// For an error that ends the run: what of it is saved, and how to resume it.
  /// `step`: the last that was begun.
  std::string how_to_resume(std::int64_t step);

 private:
  std::optional<TrainingState> restore_newest(bool finite_alone);
  TrainingState restore_from(const ReadCheckpoint& checkpoint);
  void restore_callbacks(const ReadCheckpoint& checkpoint, CallbackState& state) const;
  void restore_variables(const ReadCheckpoint& checkpoint, bool accumulated);
  void sync_events() const;
  void write(CheckpointSnapshot& snapshot, std::int64_t step, std::int64_t keep, bool is_best) const;
  void remove_old(bool newest_is_finite, std::int64_t keep) const;

  std::filesystem::path folder_;
  Strategy& strategy_;
  CheckpointNames names_;
  RunIdentity run_;
  report::JsonlWriter* events_ = nullptr;
  const RunLock* lock_ = nullptr;
  std::int64_t restored_events_ = 0;
  std::future<void> writing_;
  // Steps whose checkpoints another worker than the chief knows of, of this run of the program or what it resumed from:
  // the last is there once the chief has taken part in a later step.
  std::int64_t saved_ = 0, last_saved_ = 0;
};

}  // namespace mirrortrain
