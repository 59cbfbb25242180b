#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/bfloat16.h"
#include "kernels/cpu/simd.h"
#include "kernels/scalar/math.h"

/// Vectors of floats from and to tensors of other dtypes. Each has a part of a vector, as from each_vector: Whole or
/// First, which accesses no element beyond.
namespace mirrortrain::cpu {

typedef std::int32_t IntVec __attribute__((vector_size(kLanes * sizeof(std::int32_t))));
typedef std::uint32_t WordVec __attribute__((vector_size(kLanes * sizeof(std::uint32_t))));
typedef std::uint16_t HalfVec __attribute__((vector_size(kLanes * sizeof(std::uint16_t))));
typedef std::uint8_t ByteVec __attribute__((vector_size(kLanes)));

inline std::size_t elements_of(Whole) { return kLanes; }
inline std::size_t elements_of(First part) { return static_cast<std::size_t>(part.count); }

/// Loads a vector; elements outside the part are zero.
template <class Vector, class T, class Part>
inline Vector raw_load(const T* from, Part part) {
  Vector value{};
  std::memcpy(&value, from, elements_of(part) * sizeof(T));
  return value;
}
template <class Vector, class T, class Part>
inline void raw_store(T* to, const Vector& value, Part part) {
  std::memcpy(static_cast<void*>(to), &value, elements_of(part) * sizeof(T));
}

#if defined(__AVX512F__)
// The compiler would split these into smaller operations.
inline WordVec widen(const HalfVec& value) {
  return reinterpret_cast<WordVec>(_mm512_maskz_cvtepu16_epi32(0xffff, reinterpret_cast<__m256i>(value)));
}
inline HalfVec narrow(const WordVec& value) {
  return reinterpret_cast<HalfVec>(_mm512_maskz_cvtepi32_epi16(0xffff, reinterpret_cast<__m512i>(value)));
}
#else
inline WordVec widen(const HalfVec& value) { return __builtin_convertvector(value, WordVec); }
inline HalfVec narrow(const WordVec& value) { return __builtin_convertvector(value, HalfVec); }
#endif

template <class Part>
inline Vec get(const float* from, Part part) {
  return part.load(from);
}
template <class Part>
inline Vec get(const bfloat16* from, Part part) {
  return reinterpret_cast<Vec>(widen(raw_load<HalfVec>(from, part)) << 16);
}

template <class Part>
inline void put(float* to, const Vec& value, Part part) {
  part.store(to, value);
}
/// Rounds as bfloat16(float) does.
template <class Part>
inline void put(bfloat16* to, const Vec& value, Part part) {
  const WordVec word = reinterpret_cast<WordVec>(value);
  const WordVec rounded = (word + 0x7fffu + ((word >> 16) & 1u)) >> 16, quiet_nan = (word >> 16) | 0x40u;
  const WordVec bits = value == value ? rounded : quiet_nan;
  raw_store(to, narrow(bits), part);
}

template <class Part>
inline IntVec get(const std::uint8_t* from, Part part) {
  return __builtin_convertvector(raw_load<ByteVec>(from, part), IntVec);
}
template <class Part>
inline void put(std::uint8_t* to, const IntVec& value, Part part) {
  raw_store(to, __builtin_convertvector(value, ByteVec), part);
}

/// 0, 1, 2, ...
inline WordVec lane_numbers() {
  WordVec numbers{};
  for (unsigned lane = 0; lane < kLanes; ++lane) numbers[lane] = lane;
  return numbers;
}

/// `value` where it is in the part, `rest` beyond.
inline Vec fill_rest(const Vec& value, float, Whole) { return value; }
inline Vec fill_rest(const Vec& value, float rest, First part) {
  return lane_numbers() < static_cast<std::uint32_t>(part.count) ? value : broadcast(rest);
}

/// Exchanges each element of `value` with the one kDistance away.
template <std::size_t kDistance, class Vector, std::size_t... kLane>
inline Vector exchange(const Vector& value, std::index_sequence<kLane...>) {
  return __builtin_shufflevector(value, value, static_cast<int>(kLane ^ kDistance)...);
}

/// combine() of all elements, in a fixed order.
template <std::size_t kDistance = kLanes / 2, class Vector, class Combine>
inline auto reduce(const Vector& value, const Combine& combine) {
  const Vector both = combine(value, exchange<kDistance>(value, std::make_index_sequence<kLanes>{}));
  if constexpr (kDistance > 1) {
    return reduce<kDistance / 2>(both, combine);
  } else {
    return both[0];
  }
}
inline float sum_of(const Vec& value) {
  return reduce(value, [](const Vec& a, const Vec& b) -> Vec { return a + b; });
}
inline float largest_of(const Vec& value) {
  return reduce(value, [](const Vec& a, const Vec& b) -> Vec { return a > b ? a : b; });
}
inline std::int32_t smallest_of(const IntVec& value) {
  return reduce(value, [](const IntVec& a, const IntVec& b) -> IntVec { return a < b ? a : b; });
}

typedef double DoubleVec __attribute__((vector_size(kLanes / 2 * sizeof(double))));

/// The elements of both halves, in pairs.
template <std::size_t... kLane>
inline DoubleVec paired_sums(const Vec& value, std::index_sequence<kLane...>) {
  typedef float Half __attribute__((vector_size(kLanes / 2 * sizeof(float))));
  const Half low = __builtin_shufflevector(value, value, static_cast<int>(kLane)...);
  const Half high = __builtin_shufflevector(value, value, static_cast<int>(kLane + kLanes / 2)...);
  return __builtin_convertvector(low, DoubleVec) + __builtin_convertvector(high, DoubleVec);
}
/// Sums in double, half as many as the elements.
inline DoubleVec widened(const Vec& value) { return paired_sums(value, std::make_index_sequence<kLanes / 2>{}); }
inline double sum_of(const DoubleVec& value) {
  double sums[kLanes / 2];
  std::memcpy(sums, &value, sizeof(sums));
  for (int half = kLanes / 4; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
  }
  return sums[0];
}
}  // namespace mirrortrain::cpu

template <>
struct mirrortrain::scalar::IntegersOf<mirrortrain::cpu::Vec> {
  using Type = mirrortrain::cpu::IntVec;
  static mirrortrain::cpu::Vec as_real(const Type& n) { return __builtin_convertvector(n, mirrortrain::cpu::Vec); }
};
