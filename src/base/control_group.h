#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace mirrortrain {

// What the control groups (cgroups, version 1 and 2) that this process is in leave to it: a container's limits, or
// those of a batch system. The tightest limit of a group and its parents. nullopt if there is none. `root`: the folder
// in which /proc and /sys are.

/// In bytes.
std::optional<std::uint64_t> memory_limit_of_group(const std::filesystem::path& root = "/");

/// How many cores' time the process may use, 1.5 for one and a half; it may run on more cores at once, and is stopped
/// for the rest of each period then.
std::optional<double> core_limit_of_group(const std::filesystem::path& root = "/");

}  // namespace mirrortrain
