#pragma once

#include <cstdint>
#include <ctime>
#include <map>
#include <string>
#include <vector>

namespace mirrortrain::tune {

/// By what a change of a file is noticed: writing to it, or another one in its place, changes one of these. Only within
/// a tick of the file system's clock, some milliseconds, may a second change go unnoticed.
struct FileState {
  std::int64_t bytes = -1;  ///< -1: it does not exist
  std::uint64_t inode = 0;
  std::int64_t modified = 0, changed = 0;  ///< nanoseconds; the second also counts renaming, and cannot be set back
  bool operator==(const FileState&) const = default;
};
using FileStates = std::map<std::string, FileState>;

/// Of what a configuration names: files, folders with all in them, and globs.
FileStates look_at(const std::vector<std::string>& named);

/// The first file in which both differ; empty if there is none.
std::string first_changed(const FileStates& before, const FileStates& now);

/// The CRC-32 of the contents of all, in the order of their names. Throws SystemError for one that cannot be read.
std::uint32_t checksum_of(const FileStates& files);

}  // namespace mirrortrain::tune
