#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strategy/variable_store.h"
#include "train/training_state.h"

namespace mirrortrain {

/// The checkpoints of a run: checkpoints/step-000500/ with model.safetensors (what reading the variables gives),
/// training.safetensors (slots, and every copy of the variables whose copies can differ) and state.json (where training
/// stands, and checksums of the other two). A checkpoint appears under its name complete or not at all.
class Checkpoints {
 public:
  /// `slot_names`: as the update rule names them, one per slot of the store.
  Checkpoints(std::filesystem::path folder, const VariableStore& variables, std::vector<std::string> slot_names,
              std::uint64_t seed);

  /// Writes to a temporary name, syncs, renames, then removes all but the newest `keep`. Throws Error.
  void save(const TrainingState& state, std::int64_t keep);

  /// Restores the newest one that is whole, and removes unfinished and damaged ones newer than it. Damaged ones, and
  /// the one that is used instead, are named in the log. nullopt where there is none. Throws Error, changing nothing,
  /// where all are damaged.
  std::optional<TrainingState> restore();

  /// The newest checkpoint's folder.
  std::optional<std::filesystem::path> newest() const;

 private:
  std::vector<std::filesystem::path> by_step() const;  // oldest first
  void remove_unfinished() const;
  TrainingState restore_from(const std::filesystem::path& checkpoint);

  std::filesystem::path folder_;
  const VariableStore& variables_;
  std::vector<std::string> slot_names_;
  std::uint64_t seed_;
};

}  // namespace mirrortrain
