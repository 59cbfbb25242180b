#pragma once

#include <filesystem>

namespace mirrortrain {

/// A descriptor to read the file from, or -1 and errno, as open(2) gives. Does not wait where a pipe has no writer, but
/// does where another process, such as a file server, has to give up its lease on the file first.
int open_to_read(const std::filesystem::path& path);

/// Whether a name, through links too, is that of a file that this process has opened to read: of very many, one of the
/// first.
bool was_read(const std::filesystem::path& path);
/// Counts a file that is opened by other means among them.
void note_read(const std::filesystem::path& path);

}  // namespace mirrortrain
