#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/error.h"
#include "base/host_device.h"
#include "base/shape.h"

// Iteration over the elements of several tensors at once, for all devices.
namespace mirrortrain::scalar {

/// Strides by axis, in elements; 0 along axes that are broadcast.
using Strides = std::vector<std::int64_t>;

/// The strides of a dense tensor.
inline Strides dense_strides(const Shape& shape) {
  Strides strides(shape.rank());
  std::int64_t step = 1;
  for (std::size_t axis = shape.rank(); axis-- > 0; step *= shape[axis]) strides[axis] = step;
  return strides;
}

/// The strides of a dense tensor broadcast to `all`. A tensor without rows, with one axis fewer, is broadcast over the
/// rows.
inline Strides stretched_strides(const Shape& own, const Shape& all) {
  Strides strides = dense_strides(own);
  for (std::size_t axis = 0; axis < own.rank(); ++axis) {
    if (own[axis] != all[axis + all.rank() - own.rank()]) strides[axis] = 0;
  }
  strides.insert(strides.begin(), all.rank() - own.rank(), 0);
  return strides;
}

/// The indices of a shape, last axis fastest, and their offsets in kTensors tensors; a kernel's parameter. Axes that
/// every tensor traverses with one stride are merged.
template <int kTensors>
struct Walk {
  static constexpr int kMostAxes = 8;
  struct Offsets {
    std::int64_t at[kTensors];
  };

  int axes = 0;
  std::int64_t count = 1;
  std::int64_t extent[kMostAxes] = {};
  std::int64_t stride[kMostAxes][kTensors] = {};

  Walk() = default;

  /// Throws Error where too many axes remain.
  Walk(const Shape& shape, const std::array<Strides, kTensors>& strides) {
    for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
      count *= shape[axis];
      if (shape[axis] == 1) continue;
      if (axes > 0 && goes_on(axes - 1, axis, shape[axis], strides)) {
        extent[axes - 1] *= shape[axis];
      } else {
        if (axes == kMostAxes) throw Error("tensors of " + shape.text() + " have too many axes for this");
        extent[axes++] = shape[axis];
      }
      for (std::size_t i = 0; i < kTensors; ++i) stride[axes - 1][i] = strides[i][axis];
    }
    if (axes == 0) extent[axes++] = 1;
  }

  /// The offset in each tensor of the element with this number.
  MIRRORTRAIN_HOST_DEVICE Offsets place(std::int64_t number) const {
    // Division of 32 bits is several times faster.
    return count >> 32 == 0 ? place_of(static_cast<std::uint32_t>(number)) : place_of(number);
  }

  /// The same walk over packs of `pack` elements of the last axis, whose offsets are those of their first elements; an
  /// empty one (no axes) where there are no whole packs, or a tensor's do not begin at multiples of `pack`. Along that
  /// axis a tensor's elements are neighbours, or it has one for all of them.
  Walk in_packs(std::int64_t pack) const {
    Walk packs = *this;
    const int last = axes - 1;
    bool fits = extent[last] % pack == 0;
    for (int i = 0; i < kTensors; ++i) {
      fits = fits && (stride[last][i] == 0 || stride[last][i] == 1);
      for (int axis = 0; axis < last && stride[last][i] == 1; ++axis) fits = fits && stride[axis][i] % pack == 0;
      packs.stride[last][i] *= pack;
    }
    packs.extent[last] /= pack;
    packs.count /= pack;
    return fits ? packs : Walk();
  }

 private:
  template <class Number>
  MIRRORTRAIN_HOST_DEVICE Offsets place_of(Number number) const {
    Offsets offsets{};
    for (int axis = axes - 1; axis >= 0; --axis) {
      const auto own = static_cast<Number>(extent[axis]);
      const Number rest = number / own;
      const auto index = static_cast<std::int64_t>(number - rest * own);
      for (int i = 0; i < kTensors; ++i) offsets.at[i] += index * stride[axis][i];
      number = rest;
    }
    return offsets;
  }
  bool goes_on(int before, std::size_t axis, std::int64_t elements,
               const std::array<Strides, kTensors>& strides) const {
    for (std::size_t i = 0; i < kTensors; ++i) {
      if (stride[before][i] != elements * strides[i][axis]) return false;
    }
    return true;
  }
};

}  // namespace mirrortrain::scalar
