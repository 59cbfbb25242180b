#include "train/checkpoint/checkpoint_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <stdio.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/files.h"

namespace mirrortrain {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-";
constexpr std::string_view kUnfinished = ".unfinished", kReplaced = ".replaced";

bool is_checkpoint(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with(kPrefix) && name.size() > kPrefix.size() &&
         name.find_first_not_of("0123456789", kPrefix.size()) == std::string::npos;
}

/// Whether a path is that of a checkpoint with this behind its name.
bool is_leftover(const fs::path& path, std::string_view ending) {
  return path.native().ends_with(ending) && (is_checkpoint(path.stem()) || path.stem() == kBestCheckpoint);
}

/// The entries of a folder; empty if it does not exist.
std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    found.push_back(entry->path());
  }
  if (error && error.value() != ENOENT) {
    throw SystemError(fmt::format("cannot read the folder {}: {}", folder.string(), error.message()), error.value());
  }
  return found;
}

/// Calls `read`; a missing file counts as damage, because the checkpoint had it under its name.
template <class Read>
auto read_part(const fs::path& file, const Read& read) {
  const std::string name = file.filename().string();
  try {
    return read();
  } catch (const SystemError& error) {
    if (error.code() == ENOENT || error.code() == ENOTDIR) throw Damaged(name + " is missing");
    throw;
  } catch (const Damaged&) {
    throw;
  } catch (const Error& error) {
    // For a checkpoint, the folder is named already.
    std::string what = error.what();
    if (const auto at = what.find(file.string()); at != std::string::npos) what.replace(at, file.string().size(), name);
    throw Damaged(what);
  }
}

void require_checksum(std::uint32_t checksum, const std::string& name, const CheckpointState& state) {
  const auto expected = state.checksums.find(name);
  if (expected != state.checksums.end() && expected->second == checksum) return;
  throw Damaged(name + " does not match its checksum");
}

SafetensorsFile open_tensors(const fs::path& file, const CheckpointState& state) {
  return read_part(file, [&] {
    SafetensorsFile tensors(file);
    require_checksum(tensors.crc32(), file.filename().string(), state);
    return tensors;
  });
}

StoredTensors read_tensors(const fs::path& file, const CheckpointState& state) {
  return read_part(file, [&] {
    std::uint32_t checksum = 0;
    StoredTensors tensors = read_safetensors(file, &checksum);
    require_checksum(checksum, file.filename().string(), state);
    return tensors;
  });
}

}  // namespace

std::string checkpoint_name(std::int64_t step) { return fmt::format("{}{:06}", kPrefix, step); }

std::int64_t step_of_checkpoint(const fs::path& checkpoint) {
  return is_checkpoint(checkpoint) ? std::strtoll(checkpoint.filename().c_str() + kPrefix.size(), nullptr, 10) : 0;
}

std::vector<fs::path> checkpoints_in(const fs::path& folder) {
  std::vector<fs::path> found = entries_of(folder);
  std::erase_if(found, [](const fs::path& path) { return !is_checkpoint(path); });
  std::ranges::sort(found, {}, step_of_checkpoint);
  return found;
}

std::optional<fs::path> newest_checkpoint(const fs::path& folder,
                                          const std::function<bool(const fs::path& checkpoint)>& accepts) {
  const std::vector<fs::path> all = checkpoints_in(folder);
  const auto found = std::find_if(all.rbegin(), all.rend(), accepts);
  return found == all.rend() ? std::nullopt : std::optional(*found);
}

CheckpointState read_checkpoint_state(const fs::path& checkpoint) {
  const fs::path file = checkpoint / "state.json";
  const std::string text = read_part(file, [&] { return read_text_file(file); });
  CheckpointState state = checkpoint_state_from(text);
  const std::int64_t named = step_of_checkpoint(checkpoint);
  if (named != 0 && named != state.training.step) {
    throw Damaged(
        fmt::format("state.json is of step {}: the folder has another checkpoint's name or file", state.training.step));
  }
  return state;
}

std::optional<CheckpointState> newest_checkpoint_state(const fs::path& folder) {
  std::optional<CheckpointState> state;
  if (!fs::is_directory(folder)) return state;
  newest_checkpoint(folder, [&](const fs::path& checkpoint) {
    try {
      state = read_checkpoint_state(checkpoint);
    } catch (const Error&) {  // an older one may be readable
    }
    return state.has_value();
  });
  return state;
}

OpenCheckpoint open_checkpoint(const fs::path& checkpoint) {
  CheckpointState state = read_checkpoint_state(checkpoint);
  std::optional<SafetensorsFile> model;
  if (state.checksums.contains("model.safetensors")) model = open_tensors(checkpoint / "model.safetensors", state);
  SafetensorsFile training = open_tensors(checkpoint / "training.safetensors", state);
  return {std::move(state), std::move(model), std::move(training)};
}

StoredTensors read_checkpoint_model(const fs::path& checkpoint, std::uint32_t* crc32) {
  const fs::path file = checkpoint / "model.safetensors";
  const CheckpointState state = read_checkpoint_state(checkpoint);
  StoredTensors tensors = read_tensors(file, state);
  if (crc32 != nullptr) *crc32 = state.checksums.at(file.filename().string());  // which was compared
  return tensors;
}

fs::path unfinished_name(const fs::path& checkpoint) { return fs::path(checkpoint) += kUnfinished; }

void remove_checkpoint(const fs::path& checkpoint) {
  std::error_code error;
  const bool is_renamed = checkpoint.native().ends_with(kUnfinished) || checkpoint.native().ends_with(kReplaced);
  const fs::path renamed = is_renamed ? checkpoint : unfinished_name(checkpoint);
  if (!is_renamed) fs::rename(checkpoint, renamed, error);
  if (!error) fs::remove_all(renamed, error);
  if (error) spdlog::warn("cannot remove the old checkpoint {}: {}", checkpoint.string(), error.message());
}

bool exchange_names(const fs::path& a, const fs::path& b) {
  return ::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0;
}

void name_checkpoint(const fs::path& unfinished, const fs::path& checkpoint,
                     bool (*exchange)(const fs::path&, const fs::path&)) {
  if (!fs::exists(checkpoint)) return rename_durably(unfinished, checkpoint);
  if (exchange(unfinished, checkpoint)) {
    remove_checkpoint(unfinished);
    return sync_folder(checkpoint.parent_path());
  }
  const fs::path replaced = fs::path(checkpoint) += kReplaced;
  if (fs::exists(replaced)) remove_checkpoint(replaced);
  rename_durably(checkpoint, replaced);
  rename_durably(unfinished, checkpoint);
  remove_checkpoint(replaced);
}

void restore_replaced(const fs::path& folder) {
  for (const fs::path& path : entries_of(folder)) {
    const fs::path checkpoint = fs::path(path).replace_extension();
    if (is_leftover(path, kReplaced) && !fs::exists(checkpoint)) rename_durably(path, checkpoint);
  }
}

void remove_unfinished(const fs::path& folder) {
  for (const fs::path& path : entries_of(folder)) {
    if (is_leftover(path, kUnfinished) || is_leftover(path, kReplaced)) remove_checkpoint(path);
  }
}

fs::path set_aside(const fs::path& checkpoint, std::string_view reason) {
  fs::path name = fs::path(checkpoint) += fmt::format(".{}", reason);
  for (int number = 2; fs::exists(name); ++number) {
    name = fs::path(checkpoint) += fmt::format(".{}-{}", reason, number);
  }
  rename_durably(checkpoint, name);
  return name;
}

}  // namespace mirrortrain
