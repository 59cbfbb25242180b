#pragma once

#include <filesystem>
#include <string_view>

namespace mirrortrain {

// System calls on paths that the files behind base/files.h have in common.

/// Throws SystemError: "cannot WHAT PATH: the system's reason".
[[noreturn]] void fail_with(std::string_view what, const std::filesystem::path& path, int reason);

/// "." for a name without one.
std::filesystem::path folder_of(const std::filesystem::path& path);

/// Replaces a file `to`. Throws SystemError.
void rename_to(const std::filesystem::path& from, const std::filesystem::path& to);

/// A descriptor of a new file without a name in a folder, or -1 with errno where there are no such files. `access`:
/// O_WRONLY or O_RDWR.
int open_unnamed(const std::filesystem::path& folder, int access);

}  // namespace mirrortrain
