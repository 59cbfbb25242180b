#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/bad_examples.h"
#include "data/tables/csv_table.h"
#include "data/usable.h"

namespace mirrortrain::data {

/// Collects rows of a table that cannot be used in a BadExamples; throws Error if that is null.
class UnusableRows {
 public:
  UnusableRows(CsvTable& table, BadExamples* bad) : table_(table), bad_(bad) {}

  /// `reason`: a function that gives the error's text, called where it is wanted. Rows are added in ascending order.
  template <class Reason>
  void add(std::int64_t row, const Reason& reason) {
    if (bad_ == nullptr) throw Error(reason());
    bad_->add(table_.outputs.front().array.row_in_files(row), bad_->wants_reason() ? reason() : "");
    rows_.push_back(row);
  }
  /// Removes the rows that were added from the table.
  void leave_out() {
    if (!rows_.empty()) keep_rows(table_, rows_but(table_.rows(), rows_));
    rows_.clear();
  }

 private:
  CsvTable& table_;
  BadExamples* bad_;
  std::vector<std::int64_t> rows_;
};

}  // namespace mirrortrain::data
