// What is adapted to the training data of a table: words, means, classes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/tables/csv_columns.h"
#include "data/tables/csv_table.h"

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

}  // namespace

AdaptedTable adapted_table(const CsvTable& table, const Csv& options, const std::vector<std::int64_t>& rows) {
  AdaptedTable adapted = table.columns;
  for (std::size_t i = 0; i < adapted.features.size(); ++i) {
    AdaptedColumn& column = adapted.features[i];
    const Missing* const missing = missing_of(options, adapted.header, column.column);
    const bool by_mean = missing != nullptr && std::holds_alternative<MissingIsMean>(*missing);
    if (!column.is_category() && by_mean) column.missing = mean_of(table, i, rows);
    const KnownWords* const known = column.encoding ? known_words(*column.encoding) : nullptr;
    if (known == nullptr) continue;
    column.words = known->words ? *known->words : used_words(table, i, rows);
    std::ranges::sort(column.words);  // bytewise, which in UTF-8 is by code point
  }
  return adapted;
}

std::map<std::string, std::vector<std::string>, std::less<>> sorted_classes(const CsvTable& table) {
  std::map<std::string, std::vector<std::string>, std::less<>> classes;
  for (std::size_t i = 0; i < table.outputs.size(); ++i) {
    if (table.label_words[i].empty()) continue;
    const Labels& labels = table.outputs[i];
    const auto width = static_cast<std::size_t>(labels.array.row_elements());
    std::vector<bool> is_used(table.label_words[i].size(), false);  // by a row that was not left out
    for (std::int64_t row = 0; row < labels.array.rows(); ++row) {
      if (!labels.is_present(row)) continue;
      for (const double word : labels.array.span<double>().subspan(static_cast<std::size_t>(row) * width, width)) {
        is_used[static_cast<std::size_t>(word)] = true;
      }
    }
    std::vector<std::string>& own = classes[table.outputs.size() == 1 ? "" : table.outputs[i].name];
    for (std::size_t word = 0; word < is_used.size(); ++word) {
      if (is_used[word]) own.push_back(table.label_words[i][word]);
    }
    std::ranges::sort(own);
  }
  return classes;
}

}  // namespace mirrortrain::data
