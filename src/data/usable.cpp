#include "data/usable.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "data/undecodable.h"
#include "data/wrong_numbers.h"

namespace mirrortrain::data {
namespace {

std::int64_t place_of(const Array& labels, std::int64_t row) {
  return labels.picked.empty() ? row : labels.picked[static_cast<std::size_t>(row)];
}

/// Removes bad examples, one kind after the other.
class Sieve {
 public:
  Sieve(Examples& examples, BadExamples& bad) : examples_(examples), bad_(bad) {}

  void add(std::int64_t row, std::string_view reason) {
    bad_.add(place_of(examples_.labels, row), reason);
    rows_.push_back(row);
  }
  void leave_out() {
    if (!rows_.empty()) keep_rows(examples_, rows_but(examples_.labels.rows(), rows_));
    rows_.clear();
  }
  void leave_out(std::vector<std::int64_t> rows) {
    rows_ = std::move(rows);
    leave_out();
  }

 private:
  Examples& examples_;
  BadExamples& bad_;
  std::vector<std::int64_t> rows_;
};

void leave_out_not_finite(const Array& array, Sieve& sieve, const BadExamples& bad) {
  for (std::int64_t row = find_not_finite(array); row >= 0;) {
    sieve.add(row, bad.wants_reason() ? not_finite_text(array, row) : "");
    row = row + 1 < array.rows() ? find_not_finite(array, row + 1) : -1;
  }
  sieve.leave_out();
}

void leave_out_bad(Examples& examples, const Wanted& wanted, BadExamples& bad) {
  Sieve sieve(examples, bad);
  leave_out_not_finite(examples.labels, sieve, bad);
  sieve.leave_out(rows_with_wrong_labels(examples.labels, wanted, bad));
  if (examples.source) {
    for (const auto& [row, reason] : undecodable(*examples.source, examples.labels.rows(), bad.threads())) {
      sieve.add(row, reason);
    }
    return sieve.leave_out();
  }
  leave_out_not_finite(examples.features, sieve, bad);
  if (wanted.spec == nullptr) return;
  for (const auto& [row, message] : wrong_features(examples.features, *wanted.spec)) {
    sieve.add(row, fmt::format("{}: {}", examples.features.row_text(row), message));
  }
  sieve.leave_out();
}

}  // namespace

std::vector<std::int64_t> rows_but(std::int64_t rows, const std::vector<std::int64_t>& bad) {
  std::vector<std::int64_t> kept;
  auto next = bad.begin();
  for (std::int64_t row = 0; row < rows; ++row) {
    if (next != bad.end() && *next == row) {
      ++next;
    } else {
      kept.push_back(row);
    }
  }
  return kept;
}

std::vector<std::int64_t> rows_with_wrong_labels(const Array& labels, const Wanted& wanted, BadExamples& bad) {
  std::vector<std::int64_t> rows;
  if (wanted.spec == nullptr) return rows;
  for (const auto& [row, message] : wrong_labels(labels, wanted.one_hot_depth, *wanted.spec)) {
    bad.add(place_of(labels, row), fmt::format("{}: {}", labels.row_text(row), message));
    rows.push_back(row);
  }
  return rows;
}

Dataset usable(Examples examples, const Wanted& wanted, BadExamples bad) {
  const bool is_of_rows = examples.features.rows() == examples.labels.rows() && examples.labels.row_elements() > 0 &&
                          examples.features.row_elements() > 0;
  if (bad.skips() && is_of_rows) leave_out_bad(examples, wanted, bad);
  if (bad.any()) {
    examples.left_out =
        std::make_shared<LeftOut>(std::move(bad).left_out(examples.labels.rows(), examples.features.origin));
  }
  return Dataset(std::move(examples));
}

}  // namespace mirrortrain::data
