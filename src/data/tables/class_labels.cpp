#include "data/tables/class_labels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <utility>

#include "base/files.h"
#include "base/utf8.h"
#include "data/row_blocks.h"
#include "data/tables/unusable_rows.h"

namespace mirrortrain::data {
namespace {

/// Labels that are read by position, words as the numbers of their classes.
class ClassRows : public StoredRows {
 public:
  ClassRows(std::shared_ptr<const StoredRows> words, std::size_t row_elements, std::vector<double> numbers)
      : words_(std::move(words)), row_elements_(row_elements), numbers_(std::move(numbers)) {}
  std::int64_t rows() const override { return words_->rows(); }
  void will_read(std::int64_t first, std::int64_t count) const override { words_->will_read(first, count); }
  void read(std::int64_t first, std::int64_t count, std::byte* to) const override {
    words_->read(first, count, to);
    auto* const labels = reinterpret_cast<double*>(to);
    for (std::size_t i = 0; i < static_cast<std::size_t>(count) * row_elements_; ++i) {
      labels[i] = std::isnan(labels[i]) ? 0 : numbers_[static_cast<std::size_t>(labels[i])];  // NaN: it is missing
    }
  }
  bool are_finite() const override { return true; }
  std::string identity() const override {
    const std::string of_words = words_->identity();
    return of_words.empty() ? ""
                            : fmt::format("{} classes {:08x}", of_words, crc32_of(std::as_bytes(std::span(numbers_))));
  }
  std::shared_ptr<const StoredRows> by_position(const UnpackedFiles&) const override { return nullptr; }

 private:
  std::shared_ptr<const StoredRows> words_;
  std::size_t row_elements_;
  std::vector<double> numbers_;
};

}  // namespace

void number_labels(CsvTable& table, std::size_t output, const std::vector<std::string>& classes, BadExamples* bad) {
  std::vector<double> numbers;
  for (const std::string& word : table.label_words[output]) {
    const auto found = std::lower_bound(classes.begin(), classes.end(), word);
    numbers.push_back(found != classes.end() && *found == word ? static_cast<double>(found - classes.begin()) : -1);
  }
  UnusableRows unknown(table, bad);
  Labels& own = table.outputs[output];
  const auto per_row = static_cast<std::size_t>(own.array.row_elements());
  if (std::ranges::find(numbers, -1) != numbers.end()) {
    for_each_block<double>(own.array, 0, own.array.rows(), [&](std::int64_t row, std::span<const double> labels) {
      for (; !labels.empty(); labels = labels.subspan(per_row), ++row) {
        if (!own.is_present(row)) continue;
        const auto words = labels.first(per_row);  // the first that is not a class counts
        const auto none =
            std::ranges::find_if(words, [&](double label) { return numbers[static_cast<std::size_t>(label)] < 0; });
        if (none == words.end()) continue;
        const std::string& word = table.label_words[output][static_cast<std::size_t>(*none)];
        unknown.add(row, [&] {
          return fmt::format("{}: the label '{}' is none of the {} classes of the training data ({}); correct it",
                             own.array.row_text(row), shortened(word), classes.size(),
                             shortened(fmt::format("{}", fmt::join(classes, ", ")), 120));
        });
      }
      return true;
    });
  }
  unknown.leave_out();
  if (own.array.is_by_position()) {
    own.array.stored = std::make_shared<ClassRows>(own.array.stored, per_row, std::move(numbers));
    return;
  }
  const auto labels = own.array.span<double>();
  for (std::int64_t row = 0; row < own.array.rows(); ++row) {
    if (!own.is_present(row)) continue;
    for (double& label : labels.subspan(static_cast<std::size_t>(row) * per_row, per_row)) {
      label = numbers[static_cast<std::size_t>(label)];
    }
  }
}

}  // namespace mirrortrain::data
