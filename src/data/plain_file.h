#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "data/array.h"

namespace mirrortrain::data {

/// A regular file open for reading. Throws Error, naming file and reason.
class PlainFile {
 public:
  explicit PlainFile(const std::string& path);
  PlainFile(PlainFile&& other) noexcept;
  PlainFile& operator=(PlainFile&&) = delete;
  ~PlainFile();

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }

  /// Reads from `offset` on, as much as there is.
  std::size_t read_at(std::uint64_t offset, std::span<std::byte> to) const;

  /// All of it.
  Bytes read_whole() const;

 private:
  std::string path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace mirrortrain::data
