#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/files/input.h"

namespace mirrortrain::data {

/// A zip archive, including zip64; stored and deflated files can be read.
class Zip {
 public:
  /// Throws Error if it is damaged or not a zip archive.
  explicit Zip(const std::string& path);

  std::vector<std::string> names() const;

  /// Opens a file in the archive, verifying its checksum at the end, with the name `label`. Must not outlive this.
  /// Throws Error if there is no file of that name.
  std::unique_ptr<Input> open(const std::string& name, std::string label) const;

 private:
  struct Entry {
    std::string name;
    std::uint64_t offset = 0, compressed_bytes = 0, bytes = 0;
    std::uint32_t crc32 = 0;
    int method = 0;
    bool encrypted = false;
  };
  struct Directory {
    std::uint64_t offset = 0, bytes = 0;
  };
  Directory find_directory() const;
  Directory find_directory64(std::uint64_t end_offset) const;
  void read_directory(const Directory& directory);
  std::uint64_t data_offset(const Entry& entry) const;
  [[noreturn]] void fail(const std::string& reason) const;

  PlainFile file_;
  std::vector<Entry> entries_;
};

}  // namespace mirrortrain::data
