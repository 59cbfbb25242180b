#include "data/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "data/row_blocks.h"

namespace mirrortrain::data {

std::string meaning_of_weights(std::string_view where, std::string_view others, std::string_view form) {
  return fmt::format(
      "{}: each example's loss is multiplied by its weight, in training and evaluation; the sum is still divided by "
      "the number of examples. Metrics are not weighted. Or {} for each output of the model, as {{OUTPUT: {}}}; an "
      "output that is not named weighs 1. null: all count alike.",
      where, others, form);
}

bool is_weight(double number) {
  return number >= 0 && number <= static_cast<double>(std::numeric_limits<float>::max());
}

namespace {

template <class T>
bool has_nan(std::span<const T> label) {
  return std::ranges::any_of(label, [](T number) { return std::isnan(number); });
}

/// Labels, with zeros in the place of those that are missing.
class PresentRows : public StoredRows {
 public:
  PresentRows(std::shared_ptr<const StoredRows> from, DType dtype, std::size_t width)
      : from_(std::move(from)), dtype_(dtype), width_(width) {}
  std::int64_t rows() const override { return from_->rows(); }
  void will_read(std::int64_t first, std::int64_t count) const override { from_->will_read(first, count); }
  void read(std::int64_t first, std::int64_t count, std::byte* to) const override {
    from_->read(first, count, to);
    with_element_type(dtype_, [&](auto* type) {
      using T = std::remove_pointer_t<decltype(type)>;
      if constexpr (std::is_floating_point_v<T>) {
        std::span<T> labels(reinterpret_cast<T*>(to), static_cast<std::size_t>(count) * width_);
        for (; !labels.empty(); labels = labels.subspan(width_)) {
          if (has_nan<T>(labels.first(width_))) std::ranges::fill(labels.first(width_), T{0});
        }
      }
    });
  }
  std::string identity() const override {
    const std::string from = from_->identity();
    return from.empty() ? "" : from + " present";
  }
  std::shared_ptr<const StoredRows> by_position(const UnpackedFiles& cache) const override {
    auto from = from_->by_position(cache);
    return from ? std::make_shared<PresentRows>(std::move(from), dtype_, width_) : nullptr;
  }

 private:
  std::shared_ptr<const StoredRows> from_;
  DType dtype_;
  std::size_t width_;
};

}  // namespace

void allow_missing(Labels& labels) {
  labels.is_nan_missing = true;
  if (!labels.array.is_by_position() || labels.array.row_bytes() <= kMostBytesOfIndex) find_missing(labels);
}

void find_missing(Labels& labels) {
  if (!std::exchange(labels.is_nan_missing, false)) return;
  Array& array = labels.array;
  if (array.row_bytes() <= kMostBytesOfIndex) load_rows(array);  // in which zeros take the place of NaN
  Array& present = labels.present.emplace(DType::kUint8, Shape{array.rows()}, array.origin);
  present.picked = array.picked;
  const auto exists = present.span<std::uint8_t>();
  std::ranges::fill(exists, std::uint8_t{1});
  with_element_type(array.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    if constexpr (std::is_floating_point_v<T>) {
      const auto width = static_cast<std::size_t>(array.row_elements());
      for_each_block<T>(array, 0, array.rows(), [&](std::int64_t row, std::span<const T> block) {
        for (; !block.empty(); block = block.subspan(width), ++row) {
          if (has_nan<T>(block.first(width))) exists[static_cast<std::size_t>(row)] = 0;
        }
        return true;
      });
      if (array.is_by_position()) {
        array.stored = std::make_shared<PresentRows>(array.stored, array.dtype, width);
        return;
      }
      for (std::size_t row = 0; row < exists.size(); ++row) {
        if (exists[row] == 0) std::ranges::fill(array.span<T>().subspan(row * width, width), T{0});
      }
    } else {
      array.remarks.push_back(
          fmt::format("{} holds whole numbers, so that no label is missing; where one is, save NaN among numbers of a "
                      "type such as float32",
                      array.origin));
    }
  });
}

Array weights_in(Array numbers, const Array& labels) {
  if (numbers.rows() != labels.rows()) {
    throw Error(fmt::format("{} has {} rows but {} has {}; give one weight for each example", numbers.origin,
                            numbers.rows(), labels.origin, labels.rows()));
  }
  if (numbers.row_elements() != 1) {
    throw Error(fmt::format("{}: expected one weight for each example, found the shape {}", numbers.origin,
                            numbers.row_shape().text()));
  }
  load_rows(numbers);
  Array weights(DType::kFloat64, Shape{numbers.rows()}, numbers.origin);
  with_element_type(numbers.dtype, [&](auto* type) {
    std::ranges::transform(numbers.span<std::remove_pointer_t<decltype(type)>>(), weights.span<double>().begin(),
                           [](auto number) { return static_cast<double>(number); });
  });
  const std::span<const double> all = weights.span<double>();
  const auto wrong = std::ranges::find_if_not(all, is_weight);
  if (wrong != all.end()) {
    throw Error(fmt::format("{}: expected a weight, which is a number from 0, found {}",
                            numbers.row_text(wrong - all.begin()), *wrong));
  }
  return weights;
}

}  // namespace mirrortrain::data
