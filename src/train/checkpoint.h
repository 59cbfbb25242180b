#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strategy/strategy.h"
#include "train/training_steps.h"
#include "train/variable_copies.h"

namespace mirrortrain {

/// What belongs to a checkpoint's figures, in their order.
struct CheckpointNames {
  std::vector<std::string> slots;    ///< of the update rule, one per slot of the store
  std::vector<std::string> metrics;  ///< as in Model::metric_names
};

/// The checkpoints of a run: checkpoints/step-000500/ with model.safetensors (what reading the variables gives),
/// training.safetensors (optimizer slots, accumulated gradients, the `state`, and every copy that can differ) and
/// state.json (where training stands, and checksums of the other two). A checkpoint appears under its name complete or
/// not at all.
class Checkpoints {
 public:
  /// `folder`: of the chief's machine, on every worker, which names it in errors. `strategy` must outlive it.
  Checkpoints(std::filesystem::path folder, Strategy& strategy, CheckpointNames names, std::uint64_t seed);

  /// Every worker calls it, and the chief writes: to a temporary name, syncs, renames, then removes all but the newest
  /// `keep`. Throws Error.
  void save(const TrainingState& state, std::int64_t keep);

  /// Restores the newest one that is whole, which the chief reads for every worker, and removes unfinished and damaged
  /// ones newer than it. Damaged ones, and the one that is used instead, are named in the log. nullopt where there is
  /// none. Throws Error, changing nothing, where all are damaged.
  std::optional<TrainingState> restore();

  /// The step of the newest that was saved or restored here; 0: none.
  std::int64_t last_saved() const { return last_saved_; }

  /// For an error that ends the run: what of it is saved, and how to resume it.
  /// `step`: the last that was begun.
  std::string how_to_resume(std::int64_t step) const;

 private:
  std::optional<TrainingState> restore_newest();
  void remove_unfinished() const;
  TrainingState restore_from(const std::filesystem::path& checkpoint);
  void restore_variables(const std::filesystem::path& checkpoint, const SavedPolicies& policies, bool accumulated);

  std::filesystem::path folder_;
  Strategy& strategy_;
  CheckpointNames names_;
  std::uint64_t seed_;
  // Steps whose checkpoints another worker than the chief knows of, of this run of the program or what it resumed from:
  // the last is there once the chief has taken part in a later step.
  std::int64_t saved_ = 0, last_saved_ = 0;
};

/// The newest of the checkpoints in a folder.
std::optional<std::filesystem::path> newest_checkpoint(const std::filesystem::path& folder);
/// The step of a checkpoint, by its name; 0 where it has another name.
std::int64_t step_of_checkpoint(const std::filesystem::path& checkpoint);

}  // namespace mirrortrain
