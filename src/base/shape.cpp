#include "base/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <numeric>

namespace mirrortrain {

std::int64_t Shape::elements() const {
  return std::accumulate(dims_.begin(), dims_.end(), std::int64_t{1}, std::multiplies<>{});
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
