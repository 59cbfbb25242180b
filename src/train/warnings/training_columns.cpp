#include "train/warnings/training_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <type_traits>

#include "data/row_blocks.h"

namespace mirrortrain {
namespace {

/// Maximum number of rows to check.
constexpr std::int64_t kMostRows = 10'000;

/// Fewer rows are checked where they would be more numbers and are not in memory.
constexpr std::int64_t kMostNumbers = std::int64_t{1} << 22;

}  // namespace

TrainingColumns::TrainingColumns(const data::Dataset& train, std::size_t input, const data::AdaptedTable* table,
                                 const data::TableInput* own)
    : table_(table) {
  if (own != nullptr) known_ = table->columns_of(*own);
  rows_ = std::min(train.rows(), kMostRows);
  const data::Array& features = train.features(input);
  const auto width = static_cast<std::size_t>(features.row_elements());
  if (features.is_by_position()) rows_ = std::min(rows_, std::max(kFewestRows, kMostNumbers / features.row_elements()));
  columns_.resize(width);
  for (auto& column : columns_) column.reserve(static_cast<std::size_t>(rows_));
  data::with_element_type(features.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    data::for_each_block<T>(features, train.first_row(), rows_, [&](std::int64_t, std::span<const T> block) {
      for (std::size_t i = 0; i < block.size(); ++i) columns_[i % width].push_back(static_cast<double>(block[i]));
      return true;
    });
  });
}

std::string TrainingColumns::text_of(std::size_t feature) const {
  const data::AdaptedColumn* const column = column_of(feature);
  return column != nullptr ? table_->text_of(*column) : fmt::format("feature {} (counting from 0)", feature);
}

std::optional<std::int64_t> TrainingColumns::number_of(std::size_t feature) const {
  const data::AdaptedColumn* const column = column_of(feature);
  return column != nullptr && !column->crossing ? std::optional(column->column) : std::nullopt;
}

bool TrainingColumns::is_word(std::size_t feature) const {
  const data::AdaptedColumn* const column = column_of(feature);
  return column != nullptr && column->is_category();
}

std::vector<TrainingColumns::Group> TrainingColumns::groups() const {
  std::vector<Group> groups;
  std::size_t first = 0;
  for (const data::AdaptedColumn* const column : known_) {
    groups.push_back({first, static_cast<std::size_t>(column->width())});
    first += groups.back().count;
  }
  for (; known_.empty() && first < count(); ++first) groups.push_back({first, 1});
  return groups;
}

std::vector<double> TrainingColumns::values(const Group& group) const {
  if (group.count == 1) return values(group.first);
  std::vector<double> numbers(static_cast<std::size_t>(rows_));
  for (std::size_t i = 1; i < group.count; ++i) {
    const std::vector<double> feature = values(group.first + i);
    for (std::size_t row = 0; row < numbers.size(); ++row) numbers[row] += static_cast<double>(i) * feature[row];
  }
  return numbers;
}

const data::AdaptedColumn* TrainingColumns::column_of(std::size_t feature) const {
  std::int64_t first = 0;
  for (const data::AdaptedColumn* const column : known_) {
    first += column->width();
    if (static_cast<std::int64_t>(feature) < first) return column;
  }
  return nullptr;
}

}  // namespace mirrortrain
