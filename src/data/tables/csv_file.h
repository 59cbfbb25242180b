#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "data/files/input.h"
#include "data/tables/csv.h"
#include "data/tables/csv_columns.h"
#include "data/tables/csv_text.h"

namespace mirrortrain::data {

/// Of a first line some of whose cells are numbers.
class MayBeHeader : public Error {
  using Error::Error;
};

/// A CSV file in memory, its first line read. Throws Error for what is no text and for an empty file.
class CsvFile {
 public:
  /// `known`: the names of the columns in the file that this one is read like, the training data or the first of
  /// several files; empty where that has no header, null where this is the first.
  CsvFile(const std::string& path, const Csv& options, const std::vector<std::string>* known = nullptr);

  const FirstLine& first_line() const { return line_; }
  /// Behind the header.
  CsvText& text() { return text_; }
  /// No more rows than this follow.
  std::int64_t most_rows() const;
  /// Whether the line that the text is at is the header once more, as where files were joined.
  bool repeats_header() const;
  /// What its user should know of how the first line was taken.
  const std::vector<std::string>& remarks() const { return remarks_; }
  char delimiter() const { return text_.delimiter(); }
  /// Columns whose numbers may mean something else: points that are read as decimal ones and may separate thousands, as
  /// 2.801 beside 950; codes with leading zeros; with what to say of it. Looks at the next rows, a thousand at most.
  std::map<std::size_t, std::string> doubtful_numbers() const;

 private:
  std::string_view content();
  void read_first_line(const Csv& options, const std::vector<std::string>* known);
  void require_cells(const std::vector<std::string>& cells, std::int64_t line, const Csv& options) const;
  bool looks_like_header(const std::vector<std::string>& cells, std::int64_t line, const Csv& options,
                         const std::vector<std::string>* known);
  bool words_name_columns(const std::vector<std::string>& cells, char point);

  FirstLine line_;
  Bytes bytes_;
  CsvText text_;
  std::string_view header_text_;  ///< as it is written; empty where there is none
  std::vector<std::string> remarks_;
};

/// Throws Error, naming `place`, for bytes that are no UTF-8.
void require_utf8(std::string_view text, const std::string& place);

}  // namespace mirrortrain::data
