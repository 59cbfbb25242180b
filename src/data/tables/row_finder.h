#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/files/positioned_file.h"

namespace mirrortrain::data {

/// Some rows of a file of CSV that follow each other, and where they are.
struct RowBlock {
  std::int64_t first = 0, rows = 0;  ///< counted without blank lines and headers that occur again
  std::uint64_t begin = 0, end = 0;  ///< bytes of the file, up to the next row
  std::int64_t line = 1;             ///< of the first row
};

/// Finds where the rows of a file of CSV begin: once through the file, a few blocks at a time, by several threads. Line
/// ends in quotes are no rows' ends; where there are quotes, one thread finds the rows of these blocks.
class RowFinder {
 public:
  struct Options {
    std::uint64_t begin = 0;  ///< of the first row, or of blank lines before it
    std::int64_t line = 1;    ///< of this place
    char delimiter = ',';
    std::string header{};  ///< as written, where rows that repeat it are passed over
    int threads = 1;
    std::size_t block_bytes = std::size_t{1} << 20;
  };
  RowFinder(std::shared_ptr<const PositionedFile> file, const Options& options);

  /// Adds where the next rows begin to `offsets`. Returns the blocks that they are; none at the end of the file. Throws
  /// Error, naming the file, for a quote that is not closed for a long time.
  std::vector<RowBlock> next(std::vector<std::uint64_t>& offsets);

  std::int64_t rows() const { return rows_; }
  /// The line of the first row.
  std::int64_t first_line() const { return first_line_; }
  /// Whether every row so far was one line, without others in between.
  bool one_line_each() const { return one_line_each_; }
  /// Of headers that occurred again: how many, and the line of the first.
  std::int64_t repeated_headers() const { return repeated_headers_; }
  std::int64_t first_repeated() const { return first_repeated_; }

 private:
  struct Found;
  /// A place where a row begins, and its line.
  struct Place {
    std::uint64_t offset = 0;
    std::int64_t line = 1;
  };
  enum class Line : std::uint8_t { kRow, kBlank, kHeader, kUnknown };
  Line line_at(std::string_view text, std::size_t at, bool is_end) const;
  void find(std::uint64_t begin, Found& found) const;
  void take(const Found& found, std::vector<std::uint64_t>& offsets);
  void find_one_by_one(std::uint64_t end, std::vector<std::uint64_t>& offsets);
  void add_row(const Place& place, std::vector<std::uint64_t>& offsets);
  void add_header(const Place& place);
  bool begin_window(std::uint64_t from, std::uint64_t to);

  std::shared_ptr<const PositionedFile> file_;
  Options options_;
  std::uint64_t at_;       ///< where the next block begins
  std::int64_t line_at_;   ///< the line of this place, if no row were longer
  Place next_;             ///< of a row, or of a blank line: where everything before is known
  bool is_added_ = false;  ///< whether the row there is in the blocks
  std::int64_t rows_ = 0, first_line_ = 0;
  bool one_line_each_ = true;
  std::int64_t repeated_headers_ = 0, first_repeated_ = 0;
  std::uint64_t behind_header_ = 0;  ///< all headers that begin before are counted
  std::vector<RowBlock> blocks_;     ///< which were not returned yet
  std::vector<std::byte> window_;
  std::uint64_t window_begin_ = 0;
};

}  // namespace mirrortrain::data
