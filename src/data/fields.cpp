#include "data/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/error.h"

namespace mirrortrain::data {

std::string meaning_of_weights(std::string_view where, std::string_view others, std::string_view form) {
  return fmt::format(
      "{}: each example's loss is multiplied by its weight, in training and evaluation; the sum is still divided by "
      "the "
      "number of examples. Metrics are not weighted. Or {} for each output of the model, as {{OUTPUT: {}}}; an output "
      "that is not named weighs 1. null: all count alike.",
      where, others, form);
}

bool is_weight(double number) {
  return number >= 0 && number <= static_cast<double>(std::numeric_limits<float>::max());
}

void allow_missing(Labels& labels) {
  Array& array = labels.array;
  load_rows(array);  // in which zeros take the place of NaN
  Array& present = labels.present.emplace(DType::kUint8, Shape{array.rows()}, array.origin);
  present.picked = array.picked;
  std::ranges::fill(present.span<std::uint8_t>(), std::uint8_t{1});
  with_element_type(array.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    if constexpr (std::is_floating_point_v<T>) {
      const auto width = static_cast<std::size_t>(array.row_elements());
      for (std::size_t row = 0; row < present.span<std::uint8_t>().size(); ++row) {
        const std::span<T> label = array.span<T>().subspan(row * width, width);
        if (std::ranges::none_of(label, [](T number) { return std::isnan(number); })) continue;
        std::ranges::fill(label, T{0});
        present.span<std::uint8_t>()[row] = 0;
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
