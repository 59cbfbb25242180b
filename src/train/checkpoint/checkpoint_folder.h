#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/safetensors.h"
#include "train/checkpoint/checkpoint_state.h"

namespace mirrortrain {

// The folder checkpoints/ of a run, with one folder for each step. Throws SystemError on read and write errors.

/// "step-000500"
std::string checkpoint_name(std::int64_t step);
/// The step in a checkpoint's name; 0 for other names.
std::int64_t step_of_checkpoint(const std::filesystem::path& checkpoint);
/// The name of the best epoch's checkpoint.
inline constexpr const char* kBestCheckpoint = "best";

/// The checkpoints in a folder, oldest first, without the best epoch's; empty if there is no such folder.
std::vector<std::filesystem::path> checkpoints_in(const std::filesystem::path& folder);
/// The newest that `accepts` takes: it is called for each, newest first, until it returns true. nullopt if there is
/// none.
std::optional<std::filesystem::path> newest_checkpoint(
    const std::filesystem::path& folder,
    const std::function<bool(const std::filesystem::path& checkpoint)>& accepts = [](const auto&) { return true; });

/// A checkpoint whose files were checked; tensors are read when they are asked for.
struct OpenCheckpoint {
  CheckpointState state;
  std::optional<SafetensorsFile> model;  ///< a run without a model has no weights
  SafetensorsFile training;
};

/// Opens a checkpoint, and reads all of it once. Throws Damaged if a file is missing or changed, SystemError if one
/// cannot be read, Error for another version's.
OpenCheckpoint open_checkpoint(const std::filesystem::path& checkpoint);
/// Reads only its state.json, with the same checks.
CheckpointState read_checkpoint_state(const std::filesystem::path& checkpoint);
/// Reads that of the newest readable checkpoint of a run; nullopt if there is none.
std::optional<CheckpointState> newest_checkpoint_state(const std::filesystem::path& folder);
/// Reads only its model.safetensors, and if asked the file's CRC-32, with the same checks of that file and of
/// state.json.
StoredTensors read_checkpoint_model(const std::filesystem::path& checkpoint, std::uint32_t* crc32 = nullptr);

/// Removes a checkpoint, or the rest of one, without ever leaving a part of it under its name. Warns if it fails.
void remove_checkpoint(const std::filesystem::path& checkpoint);
/// Removes remains of checkpoints that were being written or removed when the program was killed.
void remove_unfinished(const std::filesystem::path& folder);
/// Renames a checkpoint that must not be used; returns the new name: "step-000500.damaged".
std::filesystem::path set_aside(const std::filesystem::path& checkpoint, std::string_view reason);

/// The name of a checkpoint that is being written or removed.
std::filesystem::path unfinished_name(const std::filesystem::path& checkpoint);

/// Exchanges the names of two folders at once; false where the file system cannot, as those of networks.
bool exchange_names(const std::filesystem::path& a, const std::filesystem::path& b);
/// Gives a finished checkpoint its name, in place of one that has it. Where names cannot be exchanged, the old one is
/// called NAME.replaced for a moment: see restore_replaced.
void name_checkpoint(const std::filesystem::path& unfinished, const std::filesystem::path& checkpoint,
                     bool (*exchange)(const std::filesystem::path&, const std::filesystem::path&) = exchange_names);
/// Gives checkpoints their names back that were being replaced when the program was killed.
void restore_replaced(const std::filesystem::path& folder);

}  // namespace mirrortrain
