#include "survey/row_statistics.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/crc32c.h"
#include "data/hashes.h"
#include "data/in_order.h"

namespace mirrortrain::survey {

using data::Dataset;

void Moments::add(double number) {
  if (std::isnan(number)) {
    ++missing_;
    return;
  }
  ++count_;
  const double apart = number - mean_;
  mean_ += apart / static_cast<double>(count_);
  squares_ += apart * (number - mean_);
  least_ = std::min(least_, number);
  largest_ = std::max(largest_, number);
}

/// Chan, Golub and LeVeque: "Updating formulae and a pairwise algorithm for computing sample variances", 1979.
void Moments::add(const Moments& more) {
  missing_ += more.missing_;
  if (more.count_ == 0) return;
  const auto own = static_cast<double>(count_), other = static_cast<double>(more.count_), all = own + other;
  const double apart = more.mean_ - mean_;
  mean_ += apart * other / all;
  squares_ += more.squares_ + apart * apart * own * other / all;
  count_ += more.count_;
  least_ = std::min(least_, more.least_);
  largest_ = std::max(largest_, more.largest_);
}

double Moments::deviation() const { return count_ > 0 ? std::sqrt(squares_ / static_cast<double>(count_)) : 0; }

std::size_t moments_of(const Shape& row) {
  constexpr std::int64_t kMostFeatures = 4096, kMostChannels = 4;
  if (row.rank() == 3 && row[2] <= kMostChannels) return static_cast<std::size_t>(row[2]);
  return row.rank() <= 1 && row.elements() <= kMostFeatures ? static_cast<std::size_t>(row.elements()) : 1;
}

namespace {

/// About this many bytes are read at once.
constexpr std::int64_t kPiece = std::int64_t{1} << 20;

/// Adds a row's numbers to an input's moments, and to the example's mark. As float64, as the same numbers are of
/// another type in another split.
template <class T>
void add_numbers(std::span<const T> row, std::vector<Moments>& moments, ExampleMark& mark) {
  thread_local std::vector<double> numbers;
  numbers.assign(row.begin(), row.end());
  for (double& number : numbers) number += 0.0;  // so that -0 is 0
  const std::size_t count = moments.size();
  for (std::size_t i = 0; i < numbers.size(); ++i) moments[i % count].add(numbers[i]);
  const std::span<const std::byte> bytes = std::as_bytes(std::span(numbers));
  // Of the input before this one, too.
  mark.hash =
      mark.hash * 0x9e3779b97f4a7c15 + data::fingerprint({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  mark.check = mark.check * 0x9e3779b1 + crc32c_of(bytes);
}

/// The statistics of some rows.
FeatureStatistics read_rows(const Dataset& dataset, std::int64_t first, std::int64_t count) {
  FeatureStatistics found;
  found.marks.resize(static_cast<std::size_t>(count));
  for (std::size_t input = 0; input < dataset.inputs().size(); ++input) {
    const data::Array& array = dataset.features(input);
    std::vector<Moments>& moments = found.inputs.emplace_back(moments_of(array.row_shape()));
    const std::size_t row_bytes = array.row_bytes();
    std::vector<std::byte> scratch;
    std::vector<float> pixels;
    const auto add = [&](std::int64_t row, std::span<const std::byte> bytes) {
      data::with_element_type(array.dtype, [&](auto* type) {
        using T = std::remove_pointer_t<decltype(type)>;
        add_numbers(std::span(reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)), moments,
                    found.marks[static_cast<std::size_t>(row)]);
      });
    };
    if (const data::ExampleSource* const source = dataset.source(input)) {
      pixels.resize(static_cast<std::size_t>(array.row_elements()));
      for (std::int64_t row = 0; row < count; ++row) {
        source->read(dataset.first_row() + first + row, pixels);
        add(row, std::as_bytes(std::span(pixels)));
      }
      continue;
    }
    const std::byte* rows = array.rows_at(dataset.first_row() + first, count, scratch);
    for (std::int64_t row = 0; row < count; ++row, rows += row_bytes) add(row, {rows, row_bytes});
  }
  for (std::int64_t row = 0; row < count; ++row) {
    found.marks[static_cast<std::size_t>(row)].row = static_cast<std::uint32_t>(first + row);
  }
  return found;
}

}  // namespace

FeatureStatistics read_features(const Dataset& dataset, int threads) {
  std::int64_t row_bytes = 1;
  for (const data::Features& input : dataset.inputs()) {
    row_bytes += static_cast<std::int64_t>(input.array.row_bytes());
  }
  const std::int64_t together = std::max<std::int64_t>(1, kPiece / row_bytes), rows = dataset.rows();
  FeatureStatistics all;
  all.marks.reserve(static_cast<std::size_t>(rows));
  data::in_order(
      static_cast<std::size_t>((rows + together - 1) / together), threads,
      [&](std::size_t i) {
        const std::int64_t first = static_cast<std::int64_t>(i) * together;
        return read_rows(dataset, first, std::min(together, rows - first));
      },
      [&](FeatureStatistics some) {
        all.marks.insert(all.marks.end(), some.marks.begin(), some.marks.end());
        if (all.inputs.empty()) {
          all.inputs = std::move(some.inputs);
          return;
        }
        for (std::size_t input = 0; input < all.inputs.size(); ++input) {
          for (std::size_t i = 0; i < all.inputs[input].size(); ++i) all.inputs[input][i].add(some.inputs[input][i]);
        }
      });
  return all;
}

}  // namespace mirrortrain::survey
