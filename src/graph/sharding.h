#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/shape.h"

namespace mirrortrain {

/// One of the places that compute a model's layers together, the axis `model` of a mesh.
struct ModelPlace {
  int index = 0, count = 1;
};

/// Elements [first, first + count) of an axis.
struct AxisPart {
  std::int64_t first = 0, count = 0;
  std::int64_t end() const { return first + count; }
};
/// Splits `size` elements into floor/ceil parts, larger parts first.
AxisPart part_of(std::int64_t size, const ModelPlace& place);

/// How a tensor, of each example if it has rows, is divided among places.
struct Sharding {
  enum class Kind : std::uint8_t {
    kWhole,    ///< every place has all of it
    kCopied,   ///< the same, read by each place for its own part of a layer: gradients are terms of a sum
    kDivided,  ///< along `axis`: neighbouring units, larger parts first
    kOwn,      ///< every place has values of its own part, in units of a tensor's, that are no part of a tensor
  };
  Kind kind = Kind::kWhole;
  std::size_t axis = 0;
  std::int64_t unit = 1;  ///< elements of the axis that stay together, as those of an attention head

  static Sharding whole() { return {}; }
  static Sharding copied() { return {Kind::kCopied}; }
  static Sharding own(std::int64_t unit = 1) { return {Kind::kOwn, 0, unit}; }
  static Sharding along(std::size_t axis, std::int64_t unit = 1) { return {Kind::kDivided, axis, unit}; }

  bool is_divided() const { return kind == Kind::kDivided; }
  bool is_along(std::size_t of) const { return is_divided() && axis == of; }
  bool has_all() const { return kind == Kind::kWhole || kind == Kind::kCopied; }

  /// Whether every place gets at least one unit of the axis.
  bool fits(const Shape& shape, int places) const;
  /// A place's part of the axis.
  AxisPart part(const Shape& shape, const ModelPlace& place) const;
  /// Elements of each axis before and after a place's part, as ops::Pad and ops::Crop take them.
  std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>> beside(const Shape& shape,
                                                                         const ModelPlace& place) const;
  /// The shape of a place's part.
  Shape local(Shape shape, const ModelPlace& place) const;

  friend bool operator==(const Sharding&, const Sharding&) = default;
};

/// Whether both give every place the same elements.
bool same_parts(const Shape& shape, const Sharding& a, const Sharding& b, int places);

/// The sharding of the same elements in another shape; kOwn if their parts are not parts of one of its axes.
Sharding reshaped(const Sharding& sharding, const Shape& from, const Shape& to);

}  // namespace mirrortrain
