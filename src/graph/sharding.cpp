#include "graph/sharding.h"

#include <algorithm>

namespace mirrortrain {
namespace {

/// The product of axes [begin, end).
std::int64_t elements_of(const Shape& shape, std::size_t begin, std::size_t end) {
  std::int64_t product = 1;
  for (std::size_t axis = begin; axis < end; ++axis) product *= shape[axis];
  return product;
}

}  // namespace

AxisPart part_of(std::int64_t size, const ModelPlace& place) {
  const std::int64_t base = size / place.count, larger = size % place.count;
  return {place.index * base + std::min<std::int64_t>(place.index, larger), base + (place.index < larger ? 1 : 0)};
}

bool Sharding::fits(const Shape& shape, int places) const {
  if (!is_divided()) return true;
  return axis < shape.rank() && unit > 0 && shape[axis] % unit == 0 && shape[axis] / unit >= places;
}

AxisPart Sharding::part(const Shape& shape, const ModelPlace& place) const {
  const AxisPart units = part_of(shape[axis] / unit, place);
  return {units.first * unit, units.count * unit};
}

std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>> Sharding::beside(const Shape& shape,
                                                                                 const ModelPlace& place) const {
  const AxisPart own = part(shape, place);
  std::vector<std::int64_t> before(shape.rank(), 0), after = before;
  before[axis] = own.first;
  after[axis] = shape[axis] - own.end();
  return {before, after};
}

Shape Sharding::local(Shape shape, const ModelPlace& place) const {
  if (is_divided()) shape[axis] = part(shape, place).count;
  return shape;
}

bool same_parts(const Shape& shape, const Sharding& a, const Sharding& b, int places) {
  if (a.has_all() && b.has_all()) return true;
  if (!a.is_divided() || !b.is_along(a.axis)) return a.kind == b.kind && !a.is_divided();
  for (int place = 0; place < places; ++place) {
    if (a.part(shape, {place, places}).end() != b.part(shape, {place, places}).end()) return false;
  }
  return true;
}

Sharding reshaped(const Sharding& sharding, const Shape& from, const Shape& to) {
  if (!sharding.is_divided()) return sharding;
  const std::int64_t before = elements_of(from, 0, sharding.axis),
                     unit = sharding.unit * elements_of(from, sharding.axis + 1, from.rank());
  for (std::size_t axis = 0; axis < to.rank(); ++axis) {
    if (elements_of(to, 0, axis) != before || to[axis] == 1) continue;
    const std::int64_t inner = elements_of(to, axis + 1, to.rank());
    if (unit % inner == 0) return Sharding::along(axis, unit / inner);
  }
  return Sharding::own();
}

}  // namespace mirrortrain
