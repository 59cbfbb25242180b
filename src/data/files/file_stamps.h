#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mirrortrain::data {

/// By what a change of a file is noticed without reading it: writing to it, or another one in its place, changes one of
/// these. Only within a tick of the file system's clock, some milliseconds, may a second change go unnoticed.
struct FileState {
  std::int64_t bytes = -1;  ///< -1: it does not exist
  std::uint64_t inode = 0;
  std::int64_t modified = 0, changed = 0;  ///< nanoseconds; a copy may keep the first, nothing can set back the second
  bool operator==(const FileState&) const = default;
};
FileState state_of(const std::string& path);

/// A digest of files' names, sizes, inodes and times, without reading them.
class FileStamps {
 public:
  void add(const std::string& path);
  std::string text() const;

 private:
  void add_bytes(std::string_view bytes);
  std::uint64_t hash_ = 0xcbf29ce484222325;  // FNV-1a
  std::int64_t files_ = 0;
};

}  // namespace mirrortrain::data
