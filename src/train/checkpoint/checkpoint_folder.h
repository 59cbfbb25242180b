#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/safetensors.h"
#include "train/checkpoint/checkpoint_state.h"

namespace mirrortrain {

// The folder checkpoints/ of a run: one folder for each step. Throws SystemError for what cannot be read or written.

/// "step-000500"
std::string checkpoint_name(std::int64_t step);
/// The step of a checkpoint, by its name; 0 where it has another name.
std::int64_t step_of_checkpoint(const std::filesystem::path& checkpoint);
/// The name of the best epoch's.
inline constexpr const char* kBestCheckpoint = "best";

/// The checkpoints in a folder, oldest first, without the best epoch's; none where there is no such folder.
std::vector<std::filesystem::path> checkpoints_in(const std::filesystem::path& folder);
std::optional<std::filesystem::path> newest_checkpoint(const std::filesystem::path& folder);

struct ReadCheckpoint {
  CheckpointState state;
  StoredTensors model, training;
};

/// A whole checkpoint. Throws Damaged where a file is missing or was changed, SystemError where one cannot be read,
/// Error for another version's.
ReadCheckpoint read_checkpoint(const std::filesystem::path& checkpoint);
/// Its state.json alone, with the same checks.
CheckpointState read_checkpoint_state(const std::filesystem::path& checkpoint);
/// The same of the newest of a run's checkpoints that can be read; nullopt where there is none.
std::optional<CheckpointState> newest_checkpoint_state(const std::filesystem::path& folder);
/// Its model.safetensors alone, with the same checks of that file and of state.json.
StoredTensors read_checkpoint_model(const std::filesystem::path& checkpoint);

/// Removes a checkpoint, or what is left of one, never leaving a part of it under its name. What cannot be removed is a
/// warning.
void remove_checkpoint(const std::filesystem::path& checkpoint);
/// Removes what writing or removing a checkpoint left behind when the program was killed.
void remove_unfinished(const std::filesystem::path& folder);
/// Gives a checkpoint that is not to be used another name, which it returns: "step-000500.damaged".
std::filesystem::path set_aside(const std::filesystem::path& checkpoint, std::string_view reason);

/// The name of a checkpoint that is being written or removed.
std::filesystem::path unfinished_name(const std::filesystem::path& checkpoint);

}  // namespace mirrortrain
