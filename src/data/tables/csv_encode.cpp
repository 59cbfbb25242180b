// Encodes words and empty cells of a table as numbers.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/utf8.h"
#include "data/pictures/picture_files.h"
#include "data/row_blocks.h"
#include "data/tables/csv_table.h"
#include "data/usable.h"

namespace mirrortrain::data {
namespace {

/// Codes of words: unknown words; an empty cell, unless the empty word is in the training data.
constexpr std::int64_t kUnknownWord = -1, kNoWord = -2;

/// How a column's cells are converted: numbers unchanged, words by their number in the file, or bins of crossings and
/// hashes, which the cells have already.
struct ColumnCode {
  std::int64_t width = 1, first = 0;  ///< number of features that it is converted to, and the first of them
  bool is_number = true, is_word = false, is_one_hot = false;
  double missing = 0;
  std::vector<std::int64_t> codes;  ///< of words
};

/// Whether each word, or bin, is a feature: 1 for the cell's.
bool is_one_hot(const AdaptedColumn& column) {
  if (column.crossing) return column.crossing->output == CellOutput::kOneHot;
  if (!column.encoding) return false;
  const auto* const hashing = std::get_if<HashingEncoding>(&*column.encoding);
  return hashing != nullptr ? hashing->output_mode == CellOutput::kOneHot
                            : std::holds_alternative<OneHotEncoding>(*column.encoding);
}

ColumnCode code_of(const AdaptedColumn& column, const std::vector<std::string>& words) {
  ColumnCode code;
  code.width = column.width();
  code.is_word = column.has_words();
  code.is_number = !column.is_category();
  code.is_one_hot = is_one_hot(column);
  code.missing = column.missing.value_or(0);
  for (const std::string& word : words) {
    const auto found = std::lower_bound(column.words.begin(), column.words.end(), word);
    const bool is_known = found != column.words.end() && *found == word;
    code.codes.push_back(is_known                                            ? found - column.words.begin()
                         : column.has_unknown()                              ? std::ssize(column.words)
                         : word.empty() && code.is_one_hot && column.missing ? kNoWord
                                                                             : kUnknownWord);
  }
  return code;
}

std::string list_of(const std::vector<std::string>& words) {
  return shortened(fmt::format("{}", fmt::join(words, ", ")), 120);
}

/// Columns, side by side, with how their cells are converted.
struct EncodedColumns {
  std::vector<std::size_t> own;   ///< which of the table's columns of numbers and words
  std::vector<ColumnCode> codes;  ///< of each of these
  std::int64_t width = 0;

  /// Writes the numbers of a row. Returns the first of the columns that has a word with no code; else nullopt.
  std::optional<std::size_t> write(const double* cells, double* out) const {
    for (std::size_t i = 0; i < codes.size(); ++i) {
      if (!write(codes[i], cells[own[i]], out + codes[i].first)) return i;
    }
    return std::nullopt;
  }
  /// The first of the columns that has a word with no code in a row.
  std::optional<std::size_t> find_unknown_word(const double* cells) const {
    for (std::size_t i = 0; i < codes.size(); ++i) {
      if (codes[i].is_word && codes[i].codes[static_cast<std::size_t>(cells[own[i]])] == kUnknownWord) return i;
    }
    return std::nullopt;
  }
  bool may_have_unknown_words() const {
    return std::ranges::any_of(
        codes, [](const ColumnCode& code) { return std::ranges::find(code.codes, kUnknownWord) != code.codes.end(); });
  }
  /// Whether float32 has all numbers, of columns of which these are the facts.
  bool fit_float(const std::vector<ColumnFacts>& facts) const {
    const auto fits = [](double number) { return static_cast<double>(static_cast<float>(number)) == number; };
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const ColumnFacts& of_column = facts[own[i]];
      const ColumnCode& code = codes[i];
      if (code.is_one_hot) continue;
      const bool are_fit =
          code.is_word
              ? std::ranges::all_of(code.codes, [&](std::int64_t one) { return fits(static_cast<double>(one)); })
              : of_column.fits_float && (!of_column.has_missing || fits(code.missing));
      if (!are_fit) return false;
    }
    return true;
  }
  /// Changes where any number might.
  std::string identity() const {
    std::string text;
    for (std::size_t i = 0; i < codes.size(); ++i) {
      text += fmt::format(" {} {} {} {} {:08x}", own[i], codes[i].width, codes[i].is_one_hot, codes[i].missing,
                          crc32_of(std::as_bytes(std::span(codes[i].codes))));
    }
    return text;
  }

 private:
  static bool write(const ColumnCode& code, double cell, double* out) {
    if (code.is_number) {
      *out = std::isnan(cell) ? code.missing : cell;
      return true;
    }
    const std::int64_t number =
        code.is_word ? code.codes[static_cast<std::size_t>(cell)] : static_cast<std::int64_t>(cell);
    if (number == kUnknownWord) return false;
    if (!code.is_one_hot) {
      *out = static_cast<double>(number);
      return true;
    }
    std::fill_n(out, code.width, 0.0);
    if (number != kNoWord) out[number] = 1;
    return true;
  }
};

/// The numbers of columns of which the cells are read by position.
class EncodedRows : public StoredRows {
 public:
  /// `dtype`: float32 if that has all numbers, else float64. No word may be unknown.
  EncodedRows(std::shared_ptr<const StoredRows> cells, std::size_t cell_count, EncodedColumns columns, DType dtype)
      : cells_(std::move(cells)), cell_count_(cell_count), columns_(std::move(columns)), dtype_(dtype) {}
  std::int64_t rows() const override { return cells_->rows(); }
  void will_read(std::int64_t first, std::int64_t count) const override { cells_->will_read(first, count); }
  void read(std::int64_t first, std::int64_t count, std::byte* to) const override {
    constexpr std::int64_t kTogether = 1024;
    thread_local std::vector<double> cells, wide;
    wide.resize(std::max(wide.size(), static_cast<std::size_t>(columns_.width)));
    cells.resize(std::max(cells.size(), static_cast<std::size_t>(std::min(kTogether, count)) * cell_count_));
    for (const std::int64_t end = first + count; first < end; first += kTogether) {
      const auto some = static_cast<std::size_t>(std::min(kTogether, end - first));
      cells_->read(first, static_cast<std::int64_t>(some), reinterpret_cast<std::byte*>(cells.data()));
      for (std::size_t row = 0; row < some; ++row) {
        columns_.write(cells.data() + row * cell_count_, wide.data());
        to = append(std::span(wide).first(static_cast<std::size_t>(columns_.width)), to);
      }
    }
  }
  bool are_finite() const override { return true; }
  std::string identity() const override {
    const std::string of_cells = cells_->identity();
    return of_cells.empty() ? "" : of_cells + columns_.identity() + (dtype_ == DType::kFloat32 ? " narrow" : "");
  }
  std::shared_ptr<const StoredRows> by_position(const UnpackedFiles&) const override { return nullptr; }

 private:
  std::byte* append(std::span<const double> numbers, std::byte* to) const {
    if (dtype_ == DType::kFloat64) {
      std::memcpy(to, numbers.data(), numbers.size_bytes());
      return to + numbers.size_bytes();
    }
    for (const double number : numbers) {
      const auto narrow = static_cast<float>(number);
      std::memcpy(to, &narrow, sizeof narrow);
      to += sizeof narrow;
    }
    return to;
  }

  std::shared_ptr<const StoredRows> cells_;
  std::size_t cell_count_;
  EncodedColumns columns_;
  DType dtype_;
};

/// Makes numbers of columns, side by side.
class TableEncoder {
 public:
  /// `own`: which of the table's columns of numbers and words.
  TableEncoder(const CsvTable& table, const AdaptedTable& columns, std::vector<std::size_t> own)
      : table_(table), columns_(columns) {
    encoded_.own = std::move(own);
    for (const std::size_t column : encoded_.own) {
      encoded_.codes.push_back(code_of(columns.features[column], table.words[column]));
      encoded_.codes.back().first = encoded_.width;
      encoded_.width += encoded_.codes.back().width;
    }
  }

  /// `is_list`: false for one number, which has no axis.
  Array features(bool is_list) const {
    const Array& from = table_.features;
    const std::int64_t width = encoded_.width;
    const Shape row = is_list || width > 1 ? Shape{width} : Shape{};
    if (from.is_by_position()) return stored(row);
    Array to(DType::kFloat64, row.with_rows(from.rows()), from.origin);
    to.first_line = from.first_line;
    to.parts = from.parts;
    to.picked = from.picked;
    double* out = to.span<double>().data();
    const double* cells = from.span<double>().data();
    for (std::int64_t at = 0; at < from.rows(); ++at, out += width, cells += table_.words.size()) {
      if (const auto column = encoded_.write(cells, out)) throw Error(unknown_word_text(at, cells, *column));
    }
    return narrowed(std::move(to));
  }

  /// Calls found(row, its cells, the first column with an unknown word) for each row that has one, until it returns
  /// false.
  template <class Found>
  void find_unknown_words(const Found& found) const {
    const std::size_t width = table_.words.size();
    if (!encoded_.may_have_unknown_words()) return;
    for_each_block<double>(table_.features, 0, table_.rows(), [&](std::int64_t row, std::span<const double> cells) {
      for (; !cells.empty(); cells = cells.subspan(width), ++row) {
        const auto column = encoded_.find_unknown_word(cells.data());
        if (column && !found(row, cells.data(), *column)) return false;
      }
      return true;
    });
  }

  std::string unknown_word_text(std::int64_t row, const double* cells, std::size_t column) const {
    const std::size_t own = encoded_.own[column];
    const AdaptedColumn& adapted = columns_.features[own];
    const auto word = static_cast<std::size_t>(cells[own]);
    return fmt::format(
        "{}, {}: the word '{}' is none of the {} in the training data ({}); correct it, or train with the column "
        "encoded by hash or by {}: {{unknown: own_class}}, which take any word",
        table_.features.row_text(row), columns_.text_of(adapted.column), shortened(table_.words[own][word]),
        adapted.words.size(), list_of(adapted.words),
        std::visit([](const auto& encoding) { return encoding.kName; }, *adapted.encoding));
  }

 private:
  Array stored(const Shape& row) const {
    find_unknown_words([&](std::int64_t at, const double* cells, std::size_t column) -> bool {
      throw Error(unknown_word_text(at, cells, column));
    });
    const bool is_narrow = encoded_.fit_float(table_.facts.empty() ? facts_of(table_) : table_.facts);
    const DType dtype = is_narrow ? DType::kFloat32 : DType::kFloat64;
    return table_.features.read_by(
        std::make_shared<EncodedRows>(table_.features.stored, table_.words.size(), encoded_, dtype), dtype, row);
  }

  const CsvTable& table_;
  const AdaptedTable& columns_;
  EncodedColumns encoded_;
};

/// Whether an input has the table's numbers as they are.
bool is_encoded_already(const CsvTable& table, const AdaptedTable& columns) {
  const auto is_changed = [](const AdaptedColumn& column) { return column.is_category() || column.missing; };
  if (table.features.is_by_position() || columns.inputs.size() != 1 ||
      std::ranges::any_of(columns.features, is_changed))
    return false;
  const auto* const numbers = std::get_if<TableInput::Numbers>(&columns.inputs.front().content);
  return numbers != nullptr && numbers->is_list && std::ranges::is_sorted(numbers->columns) &&
         numbers->columns.size() == table.words.size();
}

/// Collects unusable rows in `bad`; throws if it is null.
class BadRows {
 public:
  BadRows(CsvTable& table, BadExamples* bad) : table_(table), bad_(bad) {}

  template <class Reason>
  void add(std::int64_t row, const Reason& reason) {
    if (bad_ == nullptr) throw Error(reason());
    bad_->add(table_.outputs.front().array.row_in_files(row), bad_->wants_reason() ? reason() : "");
    rows_.push_back(row);
  }
  void leave_out() {
    if (!rows_.empty()) keep_rows(table_, rows_but(table_.rows(), rows_));
    rows_.clear();
  }

 private:
  CsvTable& table_;
  BadExamples* bad_;
  std::vector<std::int64_t> rows_;
};

/// Labels that are read by position, words as the numbers of their classes.
class ClassRows : public StoredRows {
 public:
  ClassRows(std::shared_ptr<const StoredRows> words, std::size_t row_elements, std::vector<double> numbers)
      : words_(std::move(words)), row_elements_(row_elements), numbers_(std::move(numbers)) {}
  std::int64_t rows() const override { return words_->rows(); }
  void will_read(std::int64_t first, std::int64_t count) const override { words_->will_read(first, count); }
  void read(std::int64_t first, std::int64_t count, std::byte* to) const override {
    words_->read(first, count, to);
    auto* const labels = reinterpret_cast<double*>(to);
    for (std::size_t i = 0; i < static_cast<std::size_t>(count) * row_elements_; ++i) {
      labels[i] = std::isnan(labels[i]) ? 0 : numbers_[static_cast<std::size_t>(labels[i])];  // NaN: it is missing
    }
  }
  bool are_finite() const override { return true; }
  std::string identity() const override {
    const std::string of_words = words_->identity();
    return of_words.empty() ? ""
                            : fmt::format("{} classes {:08x}", of_words, crc32_of(std::as_bytes(std::span(numbers_))));
  }
  std::shared_ptr<const StoredRows> by_position(const UnpackedFiles&) const override { return nullptr; }

 private:
  std::shared_ptr<const StoredRows> words_;
  std::size_t row_elements_;
  std::vector<double> numbers_;
};

/// Makes the numbers of an output's classes of its words.
void number_labels(CsvTable& table, std::size_t output, const std::vector<std::string>& classes, BadExamples* bad) {
  std::vector<double> numbers;
  for (const std::string& word : table.label_words[output]) {
    const auto found = std::lower_bound(classes.begin(), classes.end(), word);
    numbers.push_back(found != classes.end() && *found == word ? static_cast<double>(found - classes.begin()) : -1);
  }
  BadRows unknown(table, bad);
  Labels& own = table.outputs[output];
  const auto per_row = static_cast<std::size_t>(own.array.row_elements());
  if (std::ranges::find(numbers, -1) != numbers.end()) {
    for_each_block<double>(own.array, 0, own.array.rows(), [&](std::int64_t row, std::span<const double> labels) {
      for (; !labels.empty(); labels = labels.subspan(per_row), ++row) {
        if (!own.is_present(row)) continue;
        const auto words = labels.first(per_row);  // the first that is not a class counts
        const auto none =
            std::ranges::find_if(words, [&](double label) { return numbers[static_cast<std::size_t>(label)] < 0; });
        if (none == words.end()) continue;
        const std::string& word = table.label_words[output][static_cast<std::size_t>(*none)];
        unknown.add(row, [&] {
          return fmt::format("{}: the label '{}' is none of the {} classes of the training data ({}); correct it",
                             own.array.row_text(row), shortened(word), classes.size(), list_of(classes));
        });
      }
      return true;
    });
  }
  unknown.leave_out();
  if (own.array.is_by_position()) {
    own.array.stored = std::make_shared<ClassRows>(own.array.stored, per_row, std::move(numbers));
    return;
  }
  const auto labels = own.array.span<double>();
  for (std::int64_t row = 0; row < own.array.rows(); ++row) {
    if (!own.is_present(row)) continue;
    for (double& label : labels.subspan(static_cast<std::size_t>(row) * per_row, per_row)) {
      label = numbers[static_cast<std::size_t>(label)];
    }
  }
}

/// Excludes rows with a word that the training data do not have.
void leave_out_unknown_words(CsvTable& table, const AdaptedTable& columns, BadExamples& bad) {
  std::vector<std::size_t> all(columns.features.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const TableEncoder encoder(table, columns, std::move(all));
  BadRows unknown(table, &bad);
  encoder.find_unknown_words([&](std::int64_t row, const double* cells, std::size_t column) {
    unknown.add(row, [&] { return encoder.unknown_word_text(row, cells, column); });
    return true;
  });
  unknown.leave_out();
}

/// The pictures of some rows.
class PickedPaths : public StoredPaths {
 public:
  PickedPaths(std::shared_ptr<const StoredPaths> from, std::vector<std::int64_t> rows)
      : from_(std::move(from)), rows_(std::move(rows)) {}
  std::string path(std::int64_t row) const override { return from_->path(rows_[static_cast<std::size_t>(row)]); }

 private:
  std::shared_ptr<const StoredPaths> from_;
  std::vector<std::int64_t> rows_;
};

}  // namespace

void keep_rows(CsvTable& table, const std::vector<std::int64_t>& rows) {
  keep_rows(table.features, rows);
  table.facts.clear();
  for (TableContent& content : table.contents) {
    if (content.tokens) keep_rows(*content.tokens, rows);
    if (content.paths) content.paths = std::make_shared<PickedPaths>(std::move(content.paths), rows);
    if (content.pictures.empty()) continue;
    std::vector<std::string> kept;
    for (const std::int64_t row : rows) kept.push_back(std::move(content.pictures[static_cast<std::size_t>(row)]));
    content.pictures = std::move(kept);
  }
  for (Labels& labels : table.outputs) keep_rows(labels, rows);
}

namespace {

/// Pictures that cells of a table name.
class PicturesOfCells : public PictureFiles {
 public:
  /// `column`: "column 2 ('photo')".
  PicturesOfCells(TableContent content, const Array& cells, std::string column)
      : PictureFiles(std::move(content.pictures)), paths_(std::move(content.paths)), column_(std::move(column)) {
    rows_.shape = {cells.rows()};
    rows_.origin = cells.origin;
    rows_.first_line = cells.first_line;
    rows_.parts = cells.parts;
    rows_.picked = cells.picked;
  }
  std::int64_t rows() const override { return rows_.rows(); }
  std::string row_text(std::int64_t row) const override {
    return paths_ ? paths_->path(row) : PictureFiles::row_text(row);
  }
  std::string cell_text(std::int64_t row) const override { return fmt::format("{}, {}", rows_.row_text(row), column_); }

 private:
  std::shared_ptr<const StoredPaths> paths_;  ///< of the files, where they are not held
  Array rows_;                                ///< without elements
  std::string column_;
};

Features pictures_of(const CsvTable& table, const TableInput::Pictures& options, TableContent content,
                     bool passes_over_bad) {
  const Array& cells = table.features;
  const auto pictures =
      std::make_shared<PicturesOfCells>(std::move(content), cells, table.columns.text_of(options.column));
  Features features = decoded_when_asked(pictures, options.form, cells.origin, passes_over_bad);
  features.array.parts = cells.parts;
  features.array.picked = cells.picked;
  return features;
}

/// Throws Error if no row is left, of which a picture's size could be.
void require_rows(const CsvTable& table, BadExamples* bad) {
  if (table.rows() > 0) return;
  if (bad != nullptr && bad->any()) std::move(*bad).left_out(0, table.features.origin);
  throw Error(fmt::format("{}: expected at least one example, found none", table.features.origin));
}

}  // namespace

Examples encoded(CsvTable table, const Adapted& adapted, BadExamples* bad) {
  const AdaptedTable& columns = adapted.table ? *adapted.table : table.columns;
  for (std::size_t i = 0; i < table.outputs.size(); ++i) {
    if (!table.label_words[i].empty()) number_labels(table, i, adapted.classes_of(table.outputs[i].name), bad);
  }
  const bool is_encoded = is_encoded_already(table, columns);
  if (bad != nullptr && !is_encoded) leave_out_unknown_words(table, columns, *bad);
  Examples examples;
  for (std::size_t i = 0; i < columns.inputs.size(); ++i) {
    const TableInput& input = columns.inputs[i];
    if (const auto* pictures = std::get_if<TableInput::Pictures>(&input.content)) {
      require_rows(table, bad);
      examples.inputs.push_back(pictures_of(table, *pictures, std::move(table.contents[i]), bad != nullptr));
    } else if (table.contents[i].tokens) {
      examples.inputs.push_back({"", *std::move(table.contents[i].tokens)});
    } else if (is_encoded) {
      examples.inputs.push_back({"", narrowed(std::move(table.features))});
    } else {
      const auto& numbers = std::get<TableInput::Numbers>(input.content);
      const TableEncoder encoder(table, columns, numbers.columns);
      examples.inputs.push_back({"", encoder.features(numbers.is_list)});
    }
    examples.inputs.back().name = input.name;
  }
  examples.inputs.front().array.remarks = std::move(table.remarks);
  examples.outputs = std::move(table.outputs);
  return examples;
}

}  // namespace mirrortrain::data
