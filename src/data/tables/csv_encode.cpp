// Encodes words and empty cells of a table as numbers.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>

#include "base/error.h"
#include "base/files.h"
#include "base/utf8.h"
#include "data/pictures/picture_files.h"
#include "data/tables/csv_table.h"
#include "data/usable.h"

namespace mirrortrain::data {
namespace {

/// Codes of words: unknown words; an empty cell, unless the empty word is in the training data.
constexpr std::int64_t kUnknownWord = -1, kNoWord = -2;

/// How a column's cells are converted: numbers unchanged, words by their number in the file, or crossings, which have
/// their bins already.
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
  code.is_word = column.encoding.has_value();
  code.is_number = !column.is_category();
  code.is_one_hot = is_one_hot(column);
  code.missing = column.missing.value_or(0);
  const auto* const hash = code.is_word ? std::get_if<HashEncoding>(&*column.encoding) : nullptr;
  const auto* const hashing = code.is_word ? std::get_if<HashingEncoding>(&*column.encoding) : nullptr;
  const std::optional<HashBins> bins =
      hashing != nullptr ? std::optional<HashBins>(std::in_place, hashing->num_bins, hashing->salt, hashing->masks())
                         : std::nullopt;
  for (const std::string& word : words) {
    if (hash != nullptr) {
      code.codes.push_back(crc32_of(std::as_bytes(std::span(word))) % hash->bins);
      continue;
    }
    if (hashing != nullptr) {
      code.codes.push_back(bins->masks() && word == *hashing->mask_value ? 0 : (*bins)(word));
      continue;
    }
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

/// Makes numbers of columns, side by side.
class TableEncoder {
 public:
  /// `own`: which of the table's columns of numbers and words.
  TableEncoder(const CsvTable& table, const AdaptedTable& columns, std::vector<std::size_t> own)
      : table_(table), columns_(columns), own_(std::move(own)) {
    for (const std::size_t column : own_) {
      codes_.push_back(code_of(columns.features[column], table.words[column]));
      codes_.back().first = width_;
      width_ += codes_.back().width;
    }
  }

  /// `is_list`: false for one number, which has no axis.
  Array features(bool is_list) const {
    const Array& from = table_.features;
    Array to(DType::kFloat64, is_list || width_ > 1 ? Shape{from.rows(), width_} : Shape{from.rows()}, from.origin);
    to.first_line = from.first_line;
    to.parts = from.parts;
    to.picked = from.picked;
    double* out = to.span<double>().data();
    for (std::int64_t row = 0; row < from.rows(); ++row, out += width_) {
      const double* const cells = cells_of(row);
      for (std::size_t i = 0; i < codes_.size(); ++i) write(codes_[i], row, i, cells[own_[i]], out + codes_[i].first);
    }
    return to;
  }

  /// The first column of a row with an unknown word.
  std::optional<std::size_t> find_unknown_word(std::int64_t row) const {
    const double* const cells = cells_of(row);
    for (std::size_t i = 0; i < codes_.size(); ++i) {
      if (codes_[i].is_word && codes_[i].codes[static_cast<std::size_t>(cells[own_[i]])] == kUnknownWord) return i;
    }
    return std::nullopt;
  }

  std::string unknown_word_text(std::int64_t row, std::size_t column) const {
    const AdaptedColumn& adapted = columns_.features[own_[column]];
    const auto word = static_cast<std::size_t>(cells_of(row)[own_[column]]);
    return fmt::format(
        "{}, {}: the word '{}' is none of the {} in the training data ({}); correct it, or train with the column "
        "encoded by hash or by {}: {{unknown: own_class}}, which take any word",
        table_.features.row_text(row), columns_.text_of(adapted.column), shortened(table_.words[own_[column]][word]),
        adapted.words.size(), list_of(adapted.words),
        std::visit([](const auto& encoding) { return encoding.kName; }, *adapted.encoding));
  }

 private:
  const double* cells_of(std::int64_t row) const {
    return table_.features.span<double>().data() + static_cast<std::size_t>(row) * table_.words.size();
  }

  void write(const ColumnCode& code, std::int64_t row, std::size_t column, double cell, double* out) const {
    if (code.is_number) {
      *out = std::isnan(cell) ? code.missing : cell;
      return;
    }
    const std::int64_t number =
        code.is_word ? code.codes[static_cast<std::size_t>(cell)] : static_cast<std::int64_t>(cell);
    if (number == kUnknownWord) throw Error(unknown_word_text(row, column));
    if (!code.is_one_hot) {
      *out = static_cast<double>(number);
      return;
    }
    std::fill_n(out, code.width, 0.0);
    if (number != kNoWord) out[number] = 1;
  }

  const CsvTable& table_;
  const AdaptedTable& columns_;
  std::vector<std::size_t> own_;
  std::vector<ColumnCode> codes_;  ///< of each of these columns
  std::int64_t width_ = 0;
};

/// Whether an input has the table's numbers as they are.
bool is_encoded_already(const CsvTable& table, const AdaptedTable& columns) {
  const auto is_changed = [](const AdaptedColumn& column) { return column.is_category() || column.missing; };
  if (columns.inputs.size() != 1 || std::ranges::any_of(columns.features, is_changed)) return false;
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

/// Makes the numbers of an output's classes of its words.
void number_labels(CsvTable& table, std::size_t output, const std::vector<std::string>& classes, BadExamples* bad) {
  std::vector<double> numbers;
  for (const std::string& word : table.label_words[output]) {
    const auto found = std::lower_bound(classes.begin(), classes.end(), word);
    numbers.push_back(found != classes.end() && *found == word ? static_cast<double>(found - classes.begin()) : -1);
  }
  BadRows unknown(table, bad);
  const Labels& own = table.outputs[output];
  const auto per_row = static_cast<std::size_t>(own.array.row_elements());
  const auto labels = own.array.span<double>();
  for (std::int64_t row = 0; row < own.array.rows(); ++row) {
    if (!own.is_present(row)) continue;
    std::optional<std::size_t> none;  // the row's first word that is not a class
    for (double& label : labels.subspan(static_cast<std::size_t>(row) * per_row, per_row)) {
      const auto word = static_cast<std::size_t>(label);
      label = numbers[word];
      if (label < 0 && !none) none = word;
    }
    if (!none) continue;
    unknown.add(row, [&] {
      return fmt::format("{}: the label '{}' is none of the {} classes of the training data ({}); correct it",
                         own.array.row_text(row), shortened(table.label_words[output][*none]), classes.size(),
                         list_of(classes));
    });
  }
  unknown.leave_out();
}

/// Excludes rows with a word that the training data do not have.
void leave_out_unknown_words(CsvTable& table, const AdaptedTable& columns, BadExamples& bad) {
  std::vector<std::size_t> all(columns.features.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const TableEncoder encoder(table, columns, std::move(all));
  BadRows unknown(table, &bad);
  for (std::int64_t row = 0; row < table.rows(); ++row) {
    if (const auto column = encoder.find_unknown_word(row)) {
      unknown.add(row, [&] { return encoder.unknown_word_text(row, *column); });
    }
  }
  unknown.leave_out();
}

}  // namespace

void keep_rows(CsvTable& table, const std::vector<std::int64_t>& rows) {
  keep_rows(table.features, rows);
  for (TableContent& content : table.contents) {
    if (content.tokens) keep_rows(*content.tokens, rows);
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
  PicturesOfCells(std::vector<std::string> files, const Array& cells, std::string column)
      : PictureFiles(std::move(files)), column_(std::move(column)) {
    rows_.origin = cells.origin;
    rows_.first_line = cells.first_line;
    rows_.parts = cells.parts;
    rows_.picked = cells.picked;
  }
  std::string cell_text(std::int64_t row) const override { return fmt::format("{}, {}", rows_.row_text(row), column_); }

 private:
  Array rows_;  ///< without elements
  std::string column_;
};

Features pictures_of(const CsvTable& table, const TableInput::Pictures& options, std::vector<std::string> files,
                     bool passes_over_bad) {
  const Array& cells = table.features;
  const auto pictures =
      std::make_shared<PicturesOfCells>(std::move(files), cells, table.columns.text_of(options.column));
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
      examples.inputs.push_back(pictures_of(table, *pictures, std::move(table.contents[i].pictures), bad != nullptr));
    } else if (table.contents[i].tokens) {
      examples.inputs.push_back({"", *std::move(table.contents[i].tokens)});
    } else if (is_encoded) {
      examples.inputs.push_back({"", narrowed(std::move(table.features))});
    } else {
      const auto& numbers = std::get<TableInput::Numbers>(input.content);
      const TableEncoder encoder(table, columns, numbers.columns);
      examples.inputs.push_back({"", narrowed(encoder.features(numbers.is_list))});
    }
    examples.inputs.back().name = input.name;
  }
  examples.inputs.front().array.remarks = std::move(table.remarks);
  examples.outputs = std::move(table.outputs);
  return examples;
}

}  // namespace mirrortrain::data
