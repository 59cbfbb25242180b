#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/tables/adapted.h"

namespace mirrortrain {

/// The training data's features for an input as numbers, row by row, before preprocessing: of the first rows, at most
/// ten thousand.
class TrainingColumns {
 public:
  /// Fewer rows are inconclusive.
  static constexpr std::int64_t kFewestRows = 10;

  /// `table`: the table that the input is from, and `own` what it has of it; both null for other data.
  TrainingColumns(const data::Dataset& train, std::size_t input, const data::AdaptedTable* table,
                  const data::TableInput* own);

  std::size_t count() const { return columns_.size(); }
  std::int64_t rows() const { return rows_; }
  const std::vector<double>& values(std::size_t feature) const { return columns_[feature]; }

  /// "column 2 ('height')", also for each of several features encoded from a column of words.
  std::string text_of(std::size_t feature) const;
  /// The column of the training file; none for a crossing and in other data.
  std::optional<std::int64_t> number_of(std::size_t feature) const;
  bool is_word(std::size_t feature) const;

  /// The features that are made of one column of a table; each by itself in other data.
  struct Group {
    std::size_t first, count;
  };
  std::vector<Group> groups() const;
  /// One number for each row that stands for what the column has: of several features, the number of the one that is 1.
  std::vector<double> values(const Group& group) const;

 private:
  const data::AdaptedColumn* column_of(std::size_t feature) const;

  const data::AdaptedTable* table_;
  std::vector<const data::AdaptedColumn*> known_;  ///< the input's columns, in their order
  std::int64_t rows_ = 0;
  std::vector<std::vector<double>> columns_;
};

}  // namespace mirrortrain
