#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "data/files/input.h"
#include "data/tables/csv.h"
#include "data/tables/csv_columns.h"
#include "data/tables/csv_text.h"
#include "data/tables/table_text.h"

namespace mirrortrain::data {

/// Thrown for a first line in which some cells are numbers.
class MayBeHeader : public Error {
  using Error::Error;
};

/// Where rows that are a part of a file have their places in it.
struct CsvPlaces {
  std::int64_t line = 1;              ///< of the part's first line
  std::int64_t row = 0;               ///< the number of the part's first row
  std::vector<std::int64_t> lines{};  ///< the line of each row, where the part's own lines are not the file's
};

/// A CSV file in memory, or a part of one, with its first line parsed. Throws Error for a file that is not text or is
/// empty.
class CsvFile {
 public:
  /// `known`: the column names of the file that this one must match, the training data or the first of several files;
  /// empty if that has no header, null if this is the first.
  /// `wanted`: the names of columns whose cells are needed, where others can be left unread; null: all.
  CsvFile(const std::string& path, const Csv& options, const std::vector<std::string>* known = nullptr,
          const std::optional<std::set<std::string>>& wanted = std::nullopt);
  /// The same for the beginning of a file, with whole rows.
  CsvFile(const std::string& name, std::string_view beginning, const Csv& options,
          const std::vector<std::string>* known, const TableForm& form = {});
  /// Rows of a file whose first line is known; no header is among them.
  CsvFile(FirstLine line, std::string_view rows, char delimiter, char point, CsvPlaces places);

  /// Whether the beginning of a file says what separates its cells, whatever follows.
  static bool knows_delimiter(std::string_view beginning, const Csv& options);
  static char likely_delimiter(std::string_view beginning, const Csv& options);
  /// Whether rows below the first line said what that is, of which more might say something else.
  bool has_looked_below() const { return has_looked_below_; }

  const FirstLine& first_line() const { return line_; }
  /// After the header.
  CsvText& text() { return text_; }
  /// The place of the text's current position in the file, or in the part of it.
  std::size_t offset() const {
    return static_cast<std::size_t>(text_.position() - reinterpret_cast<const char*>(bytes_.data()));
  }
  /// Frees the rows behind the current position, which is then at the end of the text.
  void forget_rows();
  /// Upper bound on the number of rows that follow.
  std::int64_t most_rows() const;
  /// Whether the text's current line repeats the header, as in concatenated files.
  bool repeats_header() const;
  const CsvText& text() const { return text_; }
  /// Rows that repeat this text, which must outlive the file, are headers.
  void pass_over(std::string_view header) { header_text_ = header; }
  /// The header as written; empty if there is none that rows may repeat.
  std::string_view header_text() const { return header_text_; }
  /// The number of the first row.
  std::int64_t first_row() const { return places_.row; }
  /// The file's line of a position in a row, which is counted from the file's first.
  std::int64_t line_of(std::int64_t row, const char* position) const;
  /// Remarks for the user on how the first line was interpreted.
  const std::vector<std::string>& remarks() const { return remarks_; }
  char delimiter() const { return text_.delimiter(); }
  /// Columns with ambiguous numbers, with a remark on each: points that are read as decimal but may separate thousands,
  /// as 2.801 next to 950; codes with leading zeros. Checks at most a thousand of the next rows.
  std::map<std::size_t, std::string> doubtful_numbers() const;

 private:
  CsvFile(const std::string& path, TableText text, const Csv& options, const std::vector<std::string>* known);
  CsvFile(const std::string& name, Bytes bytes, const Csv& options, const std::vector<std::string>* known,
          bool is_of_lines);
  std::string_view content();
  void read_first_line(const Csv& options, const std::vector<std::string>* known);
  void require_cells(const std::vector<std::string>& cells, std::int64_t line, const Csv& options) const;
  bool looks_like_header(const std::vector<std::string>& cells, std::int64_t line, const Csv& options,
                         const std::vector<std::string>* known);
  bool words_name_columns(const std::vector<std::string>& cells, char point);

  FirstLine line_;
  Bytes bytes_;
  CsvText text_;
  std::string_view header_text_;  ///< as written; empty if there is none that rows may repeat
  std::vector<std::string> remarks_;
  CsvPlaces places_;
  bool has_looked_below_ = false;
};

/// Throws Error, naming `place`, for bytes that are not valid UTF-8.
void require_utf8(std::string_view text, const std::string& place);

}  // namespace mirrortrain::data
