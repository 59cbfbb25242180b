#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "data/csv.h"
#include "data/csv_columns.h"
#include "data/csv_text.h"
#include "data/input.h"

namespace mirrortrain::data {

/// A CSV file in memory, its first line read. Throws Error for what is no text and for an empty file.
class CsvFile {
 public:
  CsvFile(const std::string& path, const Csv& options);

  const FirstLine& first_line() const { return line_; }
  /// Behind the header.
  CsvText& text() { return text_; }
  /// No more rows than this follow.
  std::int64_t most_rows() const;

 private:
  std::string_view content() const;
  void read_first_line(const Csv& options);
  bool looks_like_header(const std::vector<std::string>& cells, std::int64_t line, const Csv& options) const;

  FirstLine line_;
  Bytes bytes_;
  CsvText text_;
};

bool is_utf8(std::string_view text);
/// Throws Error, naming `place`, for bytes that are no UTF-8.
void require_utf8(std::string_view text, const std::string& place);

}  // namespace mirrortrain::data
