#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mirrortrain::data {

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
