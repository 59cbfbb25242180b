#include "base/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>

namespace mirrortrain {

std::int64_t Shape::elements() const {
  return std::accumulate(dims_.begin(), dims_.end(), std::int64_t{1}, std::multiplies<>{});
}

bool Shape::is_possible() const {
  constexpr std::int64_t kMostElements = std::int64_t{1} << 40;
  std::int64_t elements = 1;
  return std::ranges::all_of(dims_, [&](std::int64_t extent) {
    return !__builtin_mul_overflow(elements, extent, &elements) && elements <= kMostElements;
  });
}

Shape Shape::with_rows(std::int64_t rows) const {
  std::vector<std::int64_t> dims{rows};
  dims.insert(dims.end(), dims_.begin(), dims_.end());
  return Shape(std::move(dims));
}

std::string Shape::text() const {
  constexpr std::size_t kMostShown = 8;
  if (rank() <= 2 * kMostShown) return fmt::format("[{}]", fmt::join(dims_, ", "));
  return fmt::format("[{}, ...] ({} dimensions)", fmt::join(begin(), begin() + kMostShown, ", "), rank());
}

}  // namespace mirrortrain
