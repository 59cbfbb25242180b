#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace mirrortrain {

/// The median of at least one value; of two middle values, the upper one.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace mirrortrain
