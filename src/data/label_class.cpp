#include "data/label_class.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <type_traits>

namespace mirrortrain::data {

std::int64_t class_of(const Dataset& dataset, std::int64_t row, std::int64_t step, std::int64_t steps) {
  const Array& array = dataset.labels();
  const auto width = static_cast<std::size_t>(array.row_elements() / steps);
  const auto place = static_cast<std::size_t>((dataset.first_row() + row) * steps + step);
  return with_element_type(array.dtype, [&](auto* type) -> std::int64_t {
    using T = std::remove_pointer_t<decltype(type)>;
    const auto* const first = reinterpret_cast<const T*>(array.bytes.data()) + place * width;
    const std::span<const T> labels(first, width);
    if (width == 1) return static_cast<std::int64_t>(std::nearbyint(static_cast<double>(labels.front())));
    const auto less = [](T a, T b) { return static_cast<double>(a) < static_cast<double>(b); };
    return std::max_element(labels.begin(), labels.end(), less) - labels.begin();
  });
}

}  // namespace mirrortrain::data
