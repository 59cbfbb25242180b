#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/files/positioned_file.h"
#include "data/files/unpacked_files.h"

namespace mirrortrain::data {

/// Files that hold the rows of a data set one file after the other, and are read for as long as a run continues.
class RowFiles {
 public:
  struct File {
    std::shared_ptr<const UnpackedFile> unpacked;
    std::unique_ptr<const PositionedFile> bytes;
    std::string path;  ///< as it was given
    std::int64_t first_row;
  };

  /// `unpacked`: a compressed file's bytes; null if it is not compressed. `first_row`: that comes from it.
  void begin(const std::string& path, std::shared_ptr<const UnpackedFile> unpacked, std::int64_t first_row);

  const File& last() const { return files_.back(); }
  const File& of(std::int64_t row) const;
  /// Whether a row and the next one are in the same file.
  bool has_next_in_file(std::int64_t row) const { return &of(row) == &of(row + 1); }
  /// Of all files.
  std::string identity() const;

 private:
  std::vector<File> files_;
};

}  // namespace mirrortrain::data
