#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/tables/csv_table.h"
#include "data/tables/label_cells.h"
#include "data/tables/row_parser.h"

namespace mirrortrain::data {

/// What is held of a table that is read by position, as its rows are found, and the table that comes of it.
class FoundTable {
 public:
  /// `table`: with its columns known; to which places and words are added. All must outlive this.
  FoundTable(const Csv& options, const CsvReading& reading, std::shared_ptr<HeldTable> table);

  /// Of the labels, as far as they are known.
  std::vector<LabelCells::Kind>& kinds() { return kinds_; }
  bool knows_kinds() const;
  /// How many rows there are so far, with those that are left out.
  std::int64_t rows() const { return row_; }

  /// Adds the next rows: `block` has those that are kept, `offsets` the places of all. Throws Error for too many words.
  void add(const CsvTable& block, std::span<const std::uint64_t> offsets);

  /// `parts`: the files, with their first rows. `remarks`: for the user.
  CsvTable take(std::vector<Array::Part> parts, std::vector<std::string> remarks);

 private:
  /// The labels and weights of an output, as they are found.
  struct FoundLabels {
    bool is_held = true;
    std::vector<double> labels{}, weights{};
    std::vector<std::uint8_t> present{};
  };

  void add_features(const CsvTable& block, bool has_unused);
  void add_labels(const CsvTable& block, std::size_t output);
  [[noreturn]] void fail_at_word(const CsvTable& block, std::size_t column, std::size_t word) const;
  std::string identity() const;
  Array described(DType dtype, Shape row) const;
  template <class T>
  Array held(DType dtype, std::vector<T>& numbers) const;
  Labels take_labels(std::size_t output);
  TableContent content_of(std::size_t input) const;

  const Csv& options_;
  std::shared_ptr<HeldTable> table_;
  std::vector<ColumnFacts> facts_;
  std::vector<FoundLabels> outputs_;
  std::vector<LabelCells::Kind> kinds_;
  std::vector<Array::Part> parts_;
  std::vector<std::int64_t> picked_;
  bool has_left_out_ = false;
  std::int64_t row_ = 0;
};

}  // namespace mirrortrain::data
