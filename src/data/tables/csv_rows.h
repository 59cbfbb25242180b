#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/files/stream_input.h"
#include "data/tables/table_rows.h"

namespace mirrortrain::data {

/// The text of a file or a pipe, of which a part is in memory.
class TextAhead {
 public:
  explicit TextAhead(std::unique_ptr<StreamInput> input) : input_(std::move(input)) {}

  const std::string& name() const { return input_->name(); }
  std::string_view text() const { return std::string_view(text_).substr(begin_); }
  /// Whether `text` is all that is left.
  bool is_whole() const { return ended_; }
  /// Reads more; returns false if there is none.
  bool read_more();
  bool has_more_now() const { return !ended_ && input_->has_more_now(); }
  /// Passes over the beginning of the text.
  void pass(std::size_t bytes);
  /// Passes over the mark that some editors begin UTF-8 with, at the beginning of all.
  void pass_byte_order_mark();
  /// The line of the text's beginning.
  std::int64_t line() const { return line_; }
  /// Lets every carriage return be the end of a line, as in old files of Macs.
  void end_lines_with_return();

  std::uint64_t bytes_read() const { return input_->bytes_read(); }
  std::optional<std::uint64_t> bytes() const { return input_->size(); }
  /// As StreamInput says.
  const ParquetInput* parquet() const { return input_->parquet(); }

 private:
  std::unique_ptr<StreamInput> input_;
  std::string text_;
  std::size_t begin_ = 0;
  std::int64_t line_ = 1;
  bool ended_ = false, returns_end_lines_ = false;
};

/// Rows of CSV.
class CsvRows : public TableRows {
 public:
  CsvRows(TextAhead text, const Csv& options, const std::vector<std::string>* known);

  std::vector<std::string> names() override;
  void want(const std::vector<std::string>& columns) override;
  std::optional<TablePart> next(std::int64_t most) override;
  bool at_end() override;
  const FirstLine* first_line() override { return &begin().line; }
  std::vector<std::string> take_remarks() override { return std::exchange(remarks_, {}); }
  std::uint64_t bytes_read() const override { return ahead_.bytes_read(); }
  std::optional<std::uint64_t> bytes() const override { return ahead_.bytes(); }

 private:
  /// What the file's first line says.
  struct Beginning {
    FirstLine line;
    char delimiter, point;
    std::string header;  ///< as written; empty if there is none that rows may repeat
  };
  struct Range {
    std::size_t begin, end;
  };
  const Beginning& begin();
  void read_beginning();
  bool read_first_row();
  std::optional<Range> row_from(std::size_t from) const;
  bool read_on(std::size_t from);
  void pass_blank_lines();
  bool repeats_header(std::size_t at) const;
  bool go_to_row();
  std::vector<std::vector<std::string>> cells_in(CsvText text) const;

  TextAhead ahead_;
  Csv options_;
  const std::vector<std::string>* known_;
  std::optional<Beginning> beginning_;
  char delimiter_ = ',';
  std::vector<std::size_t> wanted_;  ///< places of columns
  std::int64_t row_ = 0;             ///< the number of the next
  std::int64_t repeated_headers_ = 0;
  std::string first_repeated_;  ///< its file and line
  std::vector<std::string> remarks_;
};

}  // namespace mirrortrain::data
