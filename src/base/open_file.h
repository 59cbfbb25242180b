#pragma once

#include <filesystem>

namespace mirrortrain {

/// A descriptor to read the file from, or -1 and errno, as open(2) returns. Does not wait for a pipe's writer, but does
/// wait while another process, such as a file server, holds a lease on the file.
int open_to_read(const std::filesystem::path& path);

/// Whether a path, symbolic links resolved, refers to a file that this process has opened to read. Only the first
/// 10,000 files are remembered.
bool was_read(const std::filesystem::path& path);
/// Also remembers a file that was opened by other means.
void note_read(const std::filesystem::path& path);

}  // namespace mirrortrain
