#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/files/positioned_file.h"

namespace mirrortrain::data {

/// A file in a tar archive.
struct TarEntry {
  std::string name;
  std::uint64_t header = 0;  ///< the place of its first header, which may be one with a long name
  std::uint64_t offset = 0;  ///< of its bytes
  std::uint64_t size = 0;
};

/// The files in an archive as tar writes it (ustar, GNU's and pax), in order; folders are passed over. Reads headers
/// alone.
class TarReader {
 public:
  /// `path`: the archive's in messages. Begins at a header. Both must outlive this.
  TarReader(const PositionedFile& file, const std::string& path, std::uint64_t header = 0)
      : file_(file), path_(path), at_(header) {}

  /// Null at the end. Throws Error, naming the archive and the place, for headers that are damaged, for files that end
  /// behind the archive's end, and for links and sparse files, whose bytes are elsewhere.
  std::optional<TarEntry> next();
  /// Whether the blocks of zeros were found that end an archive; one that was cut off between two files has none.
  bool has_end() const { return has_end_; }

 private:
  using Block = std::span<const std::byte>;
  [[noreturn]] void fail(const std::string& what) const;
  Block block_at(std::uint64_t offset);
  std::uint64_t number_in(Block header, std::size_t at, std::size_t bytes) const;
  void require_checksum(Block header) const;
  std::string long_text(std::uint64_t offset, std::uint64_t size) const;
  void read_pax(const std::string& records, TarEntry& entry, std::optional<std::uint64_t>& size) const;

  const PositionedFile& file_;
  const std::string& path_;
  std::uint64_t at_ = 0;           ///< of the next header
  std::vector<std::byte> window_;  ///< bytes around it
  std::uint64_t window_at_ = 0;
  bool has_end_ = false;
};

}  // namespace mirrortrain::data
