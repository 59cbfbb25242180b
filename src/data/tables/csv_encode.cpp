// Encodes words and empty cells of a table as numbers.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"
#include "data/pictures/picture_files.h"
#include "data/row_blocks.h"
#include "data/tables/class_labels.h"
#include "data/tables/csv_table.h"
#include "data/tables/encoded_columns.h"
#include "data/tables/unusable_rows.h"
#include "data/usable.h"

namespace mirrortrain::data {
namespace {

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
        adapted.words.size(), shortened(fmt::format("{}", fmt::join(adapted.words, ", ")), 120),
        std::visit([](const auto& encoding) { return encoding.kName; }, *adapted.encoding));
  }

 private:
  Array stored(const Shape& row) const {
    find_unknown_words([&](std::int64_t at, const double* cells, std::size_t column) -> bool {
      throw Error(unknown_word_text(at, cells, column));
    });
    const bool is_narrow = encoded_.fit_float(table_.facts.empty() ? facts_of(table_) : table_.facts);
    const DType dtype = is_narrow ? DType::kFloat32 : DType::kFloat64;
    return table_.features.read_by(encoded_rows(table_.features.stored, table_.words.size(), encoded_, dtype), dtype,
                                   row);
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

/// Excludes rows with a word that the training data do not have.
void leave_out_unknown_words(CsvTable& table, const AdaptedTable& columns, BadExamples& bad) {
  std::vector<std::size_t> all(columns.features.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const TableEncoder encoder(table, columns, std::move(all));
  UnusableRows unknown(table, &bad);
  encoder.find_unknown_words([&](std::int64_t row, const double* cells, std::size_t column) {
    unknown.add(row, [&] { return encoder.unknown_word_text(row, cells, column); });
    return true;
  });
  unknown.leave_out();
}

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
