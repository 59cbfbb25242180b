// Encodes words and empty cells of a table as numbers.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/error.h"
#include "base/files.h"
#include "base/utf8.h"
#include "data/tables/csv_table.h"
#include "data/usable.h"

namespace mirrortrain::data {
namespace {

std::vector<std::string> used_words(const CsvTable& table, std::size_t column, const std::vector<std::int64_t>& rows) {
  const std::vector<std::string>& words = table.words[column];
  const auto cells = table.features.span<double>();
  std::vector<bool> used(words.size(), false);
  for (const std::int64_t row : rows) {
    used[static_cast<std::size_t>(cells[static_cast<std::size_t>(row) * table.words.size() + column])] = true;
  }
  std::vector<std::string> all;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (used[i]) all.push_back(words[i]);
  }
  return all;
}

double mean_of(const CsvTable& table, std::size_t column, const std::vector<std::int64_t>& rows) {
  const auto cells = table.features.span<double>();
  double sum = 0;
  std::int64_t count = 0;
  for (const std::int64_t row : rows) {
    const double cell = cells[static_cast<std::size_t>(row) * table.words.size() + column];
    if (std::isnan(cell)) continue;
    sum += cell;
    ++count;
  }
  if (count > 0) return sum / static_cast<double>(count);
  throw Error(
      fmt::format("{}: {} has no number in the training data, so that it has no mean; leave the column out of "
                  "'features'",
                  table.features.origin, table.columns.text_of(table.columns.features[column].column)));
}

/// Codes of words: unknown words; an empty cell, unless the empty word is in the training data.
constexpr std::int64_t kUnknownWord = -1, kNoWord = -2;

/// How a column's cells are converted: numbers unchanged, or words by their number in the file.
struct ColumnCode {
  std::int64_t width = 1, first = 0;  ///< number of features that it is converted to, and the first of them
  bool is_word = false, is_one_hot = false;
  double missing = 0;
  std::vector<std::int64_t> codes;  ///< of words
};

ColumnCode code_of(const AdaptedColumn& column, const std::vector<std::string>& words) {
  ColumnCode code;
  code.width = column.width();
  code.is_word = column.encoding.has_value();
  code.is_one_hot = code.is_word && std::holds_alternative<OneHotEncoding>(*column.encoding);
  code.missing = column.missing.value_or(0);
  for (const std::string& word : words) {
    if (const auto* hash = code.is_word ? std::get_if<HashEncoding>(&*column.encoding) : nullptr) {
      code.codes.push_back(crc32_of(std::as_bytes(std::span(word))) % hash->bins);
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

class TableEncoder {
 public:
  TableEncoder(const CsvTable& table, const AdaptedTable& columns) : table_(table), columns_(columns) {
    std::int64_t first = 0;
    for (std::size_t i = 0; i < columns.features.size(); ++i) {
      codes_.push_back(code_of(columns.features[i], table.words[i]));
      codes_.back().first = first;
      first += codes_.back().width;
    }
  }

  Array features() const {
    const Array& from = table_.features;
    Array to(DType::kFloat64, {from.rows(), columns_.width()}, from.origin);
    to.first_line = from.first_line;
    to.parts = from.parts;
    to.picked = from.picked;
    to.remarks = from.remarks;
    const double* cell = from.span<double>().data();
    double* out = to.span<double>().data();
    for (std::int64_t row = 0; row < from.rows(); ++row, cell += codes_.size(), out += columns_.width()) {
      for (std::size_t i = 0; i < codes_.size(); ++i) write(codes_[i], row, i, cell[i], out + codes_[i].first);
    }
    return to;
  }

  /// The first column of a row with an unknown word.
  std::optional<std::size_t> find_unknown_word(std::int64_t row) const {
    const double* const cells = cells_of(row);
    for (std::size_t i = 0; i < codes_.size(); ++i) {
      if (codes_[i].is_word && codes_[i].codes[static_cast<std::size_t>(cells[i])] == kUnknownWord) return i;
    }
    return std::nullopt;
  }

  std::string unknown_word_text(std::int64_t row, std::size_t column) const {
    const AdaptedColumn& adapted = columns_.features[column];
    const auto word = static_cast<std::size_t>(cells_of(row)[column]);
    return fmt::format(
        "{}, {}: the word '{}' is none of the {} in the training data ({}); correct it, or train with the column "
        "encoded by hash or by {}: {{unknown: own_class}}, which take any word",
        table_.features.row_text(row), columns_.text_of(adapted.column), shortened(table_.words[column][word]),
        adapted.words.size(), list_of(adapted.words),
        std::visit([](const auto& encoding) { return encoding.kName; }, *adapted.encoding));
  }

 private:
  const double* cells_of(std::int64_t row) const {
    return table_.features.span<double>().data() + static_cast<std::size_t>(row) * codes_.size();
  }

  void write(const ColumnCode& code, std::int64_t row, std::size_t column, double cell, double* out) const {
    if (!code.is_word) {
      *out = std::isnan(cell) ? code.missing : cell;
      return;
    }
    const std::int64_t number = code.codes[static_cast<std::size_t>(cell)];
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
  std::vector<ColumnCode> codes_;
};

bool is_encoded_already(const CsvTable& table, const AdaptedTable& columns) {
  return std::none_of(columns.features.begin(), columns.features.end(),
                      [](const AdaptedColumn& column) { return column.encoding || column.missing; }) &&
         columns.features.size() == table.words.size();
}

/// Collects unusable rows in `bad`; throws if it is null.
class BadRows {
 public:
  BadRows(CsvTable& table, BadExamples* bad) : table_(table), bad_(bad) {}

  template <class Reason>
  void add(std::int64_t row, const Reason& reason) {
    if (bad_ == nullptr) throw Error(reason());
    const std::vector<std::int64_t>& picked = table_.labels.picked;
    bad_->add(picked.empty() ? row : picked[static_cast<std::size_t>(row)], bad_->wants_reason() ? reason() : "");
    rows_.push_back(row);
  }
  void leave_out() {
    if (!rows_.empty()) keep_rows(table_, rows_but(table_.features.rows(), rows_));
    rows_.clear();
  }

 private:
  CsvTable& table_;
  BadExamples* bad_;
  std::vector<std::int64_t> rows_;
};

void number_labels(CsvTable& table, const std::vector<std::string>& classes, BadExamples* bad) {
  std::vector<double> numbers;
  for (const std::string& word : table.label_words) {
    const auto found = std::lower_bound(classes.begin(), classes.end(), word);
    numbers.push_back(found != classes.end() && *found == word ? static_cast<double>(found - classes.begin()) : -1);
  }
  BadRows unknown(table, bad);
  const auto per_row = static_cast<std::size_t>(table.labels.row_elements());
  const auto labels = table.labels.span<double>();
  for (std::int64_t row = 0; row < table.labels.rows(); ++row) {
    std::optional<std::size_t> none;  // the row's first word that is not a class
    for (double& label : labels.subspan(static_cast<std::size_t>(row) * per_row, per_row)) {
      const auto word = static_cast<std::size_t>(label);
      label = numbers[word];
      if (label < 0 && !none) none = word;
    }
    if (!none) continue;
    unknown.add(row, [&] {
      return fmt::format("{}: the label '{}' is none of the {} classes of the training data ({}); correct it",
                         table.labels.row_text(row), shortened(table.label_words[*none]), classes.size(),
                         list_of(classes));
    });
  }
  unknown.leave_out();
}

/// Excludes rows with a word that the training data do not have.
void leave_out_unknown_words(CsvTable& table, const AdaptedTable& columns, BadExamples& bad) {
  const TableEncoder encoder(table, columns);
  BadRows unknown(table, &bad);
  for (std::int64_t row = 0; row < table.features.rows(); ++row) {
    if (const auto column = encoder.find_unknown_word(row)) {
      unknown.add(row, [&] { return encoder.unknown_word_text(row, *column); });
    }
  }
  unknown.leave_out();
}

}  // namespace

AdaptedTable adapted_table(const CsvTable& table, const Csv& options, const std::vector<std::int64_t>& rows) {
  AdaptedTable adapted = table.columns;
  const bool by_mean = options.missing && std::holds_alternative<MissingIsMean>(*options.missing);
  for (std::size_t i = 0; i < adapted.features.size(); ++i) {
    AdaptedColumn& column = adapted.features[i];
    if (!column.encoding && by_mean) column.missing = mean_of(table, i, rows);
    const KnownWords* const known = column.encoding ? known_words(*column.encoding) : nullptr;
    if (known == nullptr) continue;
    column.words = known->words ? *known->words : used_words(table, i, rows);
    std::ranges::sort(column.words);  // bytewise, which in UTF-8 is by code point
  }
  return adapted;
}

std::vector<std::string> sorted_classes(const CsvTable& table) {
  std::vector<std::string> classes = table.label_words;
  std::sort(classes.begin(), classes.end());
  return classes;
}

void keep_rows(CsvTable& table, const std::vector<std::int64_t>& rows) {
  keep_rows(table.features, rows);
  keep_rows(table.labels, rows);
  if (table.weights) keep_rows(*table.weights, rows);
}

Examples encoded(CsvTable table, const Adapted& adapted, BadExamples* bad) {
  const AdaptedTable& columns = adapted.table ? *adapted.table : table.columns;
  if (!table.label_words.empty()) number_labels(table, adapted.classes, bad);
  const bool is_encoded = is_encoded_already(table, columns);
  if (bad != nullptr && !is_encoded) leave_out_unknown_words(table, columns, *bad);
  Array features = is_encoded ? std::move(table.features) : TableEncoder(table, columns).features();
  Examples examples = examples_of(narrowed(std::move(features)), std::move(table.labels));
  examples.outputs.front().weights = std::move(table.weights);
  return examples;
}

}  // namespace mirrortrain::data
