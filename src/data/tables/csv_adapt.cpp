// What is adapted to the training data of a table: words, means, classes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "base/error.h"
#include "base/usable_cores.h"
#include "data/in_order.h"
#include "data/row_blocks.h"
#include "data/tables/csv_columns.h"
#include "data/tables/csv_table.h"

namespace mirrortrain::data {
namespace {

/// What some rows have in the columns of words and numbers.
struct ColumnContent {
  std::vector<bool> used;  ///< of a column's words
  double sum = 0;          ///< of numbers that are not missing, in the order of the rows
  std::int64_t count = 0;
};

/// What a block of rows has in the columns.
struct BlockContent {
  std::vector<std::vector<bool>> used;       ///< of a column's words
  std::vector<std::vector<double>> numbers;  ///< of a column of numbers, those that are not missing, in order
};

/// The content of those of `count` rows from `first` on that are among `rows` (ascending).
BlockContent content_of_block(const CsvTable& table, const std::vector<std::int64_t>& rows, std::int64_t first,
                              std::int64_t count) {
  const std::size_t width = table.words.size();
  BlockContent block{{}, std::vector<std::vector<double>>(width)};
  for (const std::vector<std::string>& words : table.words) block.used.emplace_back(words.size(), false);
  std::vector<std::byte> scratch;
  const auto* const cells = reinterpret_cast<const double*>(table.features.rows_at(first, count, scratch));
  for (auto row = std::ranges::lower_bound(rows, first); row != rows.end() && *row < first + count; ++row) {
    const double* const own = cells + static_cast<std::size_t>(*row - first) * width;
    for (std::size_t i = 0; i < width; ++i) {
      if (!block.used[i].empty()) {
        block.used[i][static_cast<std::size_t>(own[i])] = true;
      } else if (!std::isnan(own[i])) {
        block.numbers[i].push_back(own[i]);
      }
    }
  }
  return block;
}

std::vector<ColumnContent> content_of(const CsvTable& table, const std::vector<std::int64_t>& rows) {
  const std::size_t width = table.words.size();
  std::vector<ColumnContent> content(width);
  // Only where there are facts, the words are those of the table's rows alone.
  const bool are_known = std::ssize(rows) == table.rows() && !table.facts.empty();
  for (std::size_t i = 0; i < width; ++i) content[i].used.resize(table.words[i].size(), are_known);
  if (are_known) {
    for (std::size_t i = 0; i < width; ++i) {
      content[i].sum = table.facts[i].sum;
      content[i].count = table.facts[i].count;
    }
    return content;
  }
  const std::int64_t together = rows_of_block(table.features), all = table.rows();
  const auto threads = static_cast<int>(usable_cores().size());
  in_order(
      static_cast<std::size_t>((all + together - 1) / together), threads,
      [&](std::size_t i) {
        const std::int64_t first = static_cast<std::int64_t>(i) * together;
        return content_of_block(table, rows, first, std::min(together, all - first));
      },
      [&](const BlockContent& block) {
        for (std::size_t i = 0; i < width; ++i) {
          for (std::size_t word = 0; word < block.used[i].size(); ++word) {
            if (block.used[i][word]) content[i].used[word] = true;
          }
          for (const double number : block.numbers[i]) content[i].sum += number;
          content[i].count += std::ssize(block.numbers[i]);
        }
      });
  return content;
}

std::vector<std::string> used_words(const CsvTable& table, std::size_t column, const ColumnContent& content) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < content.used.size(); ++i) {
    if (content.used[i]) all.push_back(table.words[column][i]);
  }
  return all;
}

double mean_of(const CsvTable& table, std::size_t column, const ColumnContent& content) {
  if (content.count > 0) return content.sum / static_cast<double>(content.count);
  throw Error(
      fmt::format("{}: {} has no number in the training data, so that it has no mean; leave the column out of "
                  "'features'",
                  table.features.origin, table.columns.text_of(table.columns.features[column].column)));
}

/// Whether an empty cell of a column of numbers takes their mean.
bool takes_mean(const AdaptedTable& table, const AdaptedColumn& column, const Csv& options) {
  const Missing* const missing = missing_of(options, table.header, column.column);
  return !column.is_category() && missing != nullptr && std::holds_alternative<MissingIsMean>(*missing);
}

/// Whether the words of a column are those of the training data.
bool finds_words(const AdaptedColumn& column) {
  const KnownWords* const known = column.encoding ? known_words(*column.encoding) : nullptr;
  return known != nullptr && !known->words;
}

}  // namespace

AdaptedTable adapted_table(const CsvTable& table, const Csv& options, const std::vector<std::int64_t>& rows) {
  AdaptedTable adapted = table.columns;
  const bool is_needed = std::ranges::any_of(adapted.features, [&](const AdaptedColumn& column) {
    return finds_words(column) || takes_mean(adapted, column, options);
  });
  const std::vector<ColumnContent> content = is_needed ? content_of(table, rows) : std::vector<ColumnContent>();
  for (std::size_t i = 0; i < adapted.features.size(); ++i) {
    AdaptedColumn& column = adapted.features[i];
    if (takes_mean(adapted, column, options)) column.missing = mean_of(table, i, content[i]);
    const KnownWords* const known = column.encoding ? known_words(*column.encoding) : nullptr;
    if (known == nullptr) continue;
    column.words = known->words ? *known->words : used_words(table, i, content[i]);
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
    for_each_block<double>(labels.array, 0, labels.array.rows(), [&](std::int64_t row, std::span<const double> block) {
      for (; !block.empty(); block = block.subspan(width), ++row) {
        if (!labels.is_present(row)) continue;
        for (const double word : block.first(width)) is_used[static_cast<std::size_t>(word)] = true;
      }
      return true;
    });
    std::vector<std::string>& own = classes[table.outputs.size() == 1 ? "" : table.outputs[i].name];
    for (std::size_t word = 0; word < is_used.size(); ++word) {
      if (is_used[word]) own.push_back(table.label_words[i][word]);
    }
    std::ranges::sort(own);
  }
  return classes;
}

}  // namespace mirrortrain::data
