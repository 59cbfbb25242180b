#pragma once

#include <limits>

#include "kernels/cpu/simd_elements.h"
#include "kernels/scalar/row.h"

namespace mirrortrain::cpu {

/// A row of the last axis that one thread processes in vectors; see kernels/scalar/row.h for a row's interface.
struct Row {
  using Real = Vec;
  static constexpr bool kKeeps = true;

  /// A vector of the row, or the partial one at its end.
  template <class Part>
  struct Place {
    std::int64_t first;
    Part part;
  };

  template <class Body>
  static void each(std::int64_t count, const Body& body) {
    each_vector(count, [&]<class Part>(std::int64_t i, Part part) { body(Place<Part>{i, part}); });
  }
  template <class T, class Part>
  static Vec load(const T* from, Place<Part> i) {
    return get(from + i.first, i.part);
  }
  template <class T, class Part>
  static void store(T* to, Place<Part> i, const Vec& value) {
    put(to + i.first, value, i.part);
  }
  template <class Part>
  static IntVec index(Place<Part> i) {
    return reinterpret_cast<IntVec>(lane_numbers()) + static_cast<std::int32_t>(i.first);
  }

  template <class Value>
  static float sum(std::int64_t count, const Value& value) {
    Vec total{};
    each(count, [&](auto i) { total += fill_rest(value(i), 0.0f, i.part); });
    return sum_of(total);
  }
  template <class Value>
  static double exact_sum(std::int64_t count, const Value& value) {
    DoubleVec total{};
    each(count, [&](auto i) { total += widened(fill_rest(value(i), 0.0f, i.part)); });
    return sum_of(total);
  }
  template <class Value>
  static scalar::Two<double> exact_sums(std::int64_t count, const Value& value) {
    DoubleVec first{}, second{};
    each(count, [&](auto i) {
      const scalar::Two<Vec> two = value(i);
      first += widened(fill_rest(two.first, 0.0f, i.part));
      second += widened(fill_rest(two.second, 0.0f, i.part));
    });
    return {sum_of(first), sum_of(second)};
  }
  template <class Value>
  static float largest(std::int64_t count, const Value& value) {
    constexpr float kLowest = -std::numeric_limits<float>::infinity();
    Vec most = broadcast(kLowest);
    each(count, [&](auto i) {
      const Vec one = fill_rest(value(i), kLowest, i.part);
      most = one > most ? one : most;
    });
    return largest_of(most);
  }
  /// The values of lanes beyond the row must not be smaller.
  template <class Value>
  static std::int32_t smallest(std::int64_t count, const Value& value) {
    IntVec least = std::numeric_limits<std::int32_t>::max() - IntVec{};
    each(count, [&](auto i) {
      const IntVec one = value(i);
      least = one < least ? one : least;
    });
    return smallest_of(least);
  }
};

}  // namespace mirrortrain::cpu
