#pragma once

#include <cstdint>
#include <type_traits>

#include "base/bfloat16.h"
#include "kernels/cuda/launch.h"

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#endif

/// Several elements that a thread loads or stores at once: 16 bytes where memory is aligned to them.
namespace mirrortrain::cuda {

template <class T>
inline constexpr int kPackOf = 16 / static_cast<int>(sizeof(T));

template <class T, int kCount>
struct alignas(kCount * sizeof(T) < 16 ? kCount * sizeof(T) : 16) Pack {
  T element[kCount];
};

/// Whether all of the pointers may be read and written in packs.
template <class... T>
bool in_packs(const T*... pointers) {
  return ((reinterpret_cast<std::uintptr_t>(pointers) % 16 == 0) && ...);
}

/// Calls function(std::integral_constant<int, N>) with the channels that a thread processes at once: a pack if channels
/// are divisible into packs and memory is aligned to them, else one.
template <class T, class Function>
void with_pack(bool whole, const Function& function) {
  if (whole) {
    function(std::integral_constant<int, kPackOf<T>>{});
  } else {
    function(std::integral_constant<int, 1>{});
  }
}

/// The elements from `from` on as float (or another Real), zero beyond `count`. `whole`: there are kCount and `from` is
/// aligned.
template <class Real, int kCount, class T>
__device__ inline void load(Real (&to)[kCount], const T* from, std::int64_t count, bool whole) {
  if (whole) {
    const auto pack = *reinterpret_cast<const Pack<T, kCount>*>(from);
#pragma unroll
    for (int i = 0; i < kCount; ++i) to[i] = static_cast<Real>(pack.element[i]);
  } else {
#pragma unroll
    for (int i = 0; i < kCount; ++i) to[i] = i < count ? static_cast<Real>(from[i]) : Real{0};
  }
}

/// Two floats as bfloat16, the first in the lower half. GPUs have one instruction for both, with the same bits as
/// bfloat16's own rounding (but for those of a NaN).
__device__ inline std::uint32_t rounded_pair(float low, float high) {
#if defined(__CUDACC__)
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return __bfloat16_as_ushort(pair.x) | static_cast<std::uint32_t>(__bfloat16_as_ushort(pair.y)) << 16;
#else
  return bfloat16(low).bits | static_cast<std::uint32_t>(bfloat16(high).bits) << 16;
#endif
}

/// `from` as T.
template <class T, class Real, int kCount>
__device__ inline Pack<T, kCount> packed(const Real (&from)[kCount]) {
  if constexpr (std::is_same_v<T, bfloat16> && std::is_same_v<Real, float> && kCount % 2 == 0) {
    Pack<std::uint32_t, kCount / 2> pairs;
#pragma unroll
    for (int i = 0; i < kCount / 2; ++i) pairs.element[i] = rounded_pair(from[2 * i], from[2 * i + 1]);
    return bit_cast<Pack<T, kCount>>(pairs);
  } else {
    Pack<T, kCount> pack;
#pragma unroll
    for (int i = 0; i < kCount; ++i) pack.element[i] = T(from[i]);
    return pack;
  }
}

template <class Real, int kCount, class T>
__device__ inline void store(T* to, const Real (&from)[kCount], std::int64_t count, bool whole) {
  if (whole) {
    *reinterpret_cast<Pack<T, kCount>*>(to) = packed<T>(from);
  } else {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if (i < count) to[i] = T(from[i]);
    }
  }
}

/// Calls body(first element, count, whole) for the packs of [0, elements) that are this thread's.
template <int kCount, class Body>
__device__ inline void each_pack(std::int64_t elements, bool aligned, const Body& body) {
  const std::int64_t step = grid_threads() * kCount;
  for (std::int64_t i = grid_thread() * kCount; i < elements; i += step) {
    const std::int64_t left = elements - i;
    body(i, left, aligned && left >= kCount);
  }
}

/// A quotient and its remainder; most numbers fit into 32 bits, where division is several times faster.
struct Division {
  std::int64_t quotient, rest;
};
__device__ inline Division divide(std::int64_t number, std::int64_t by) {
  if (((number | by) >> 32) == 0) {
    const auto small = static_cast<std::uint32_t>(number), divisor = static_cast<std::uint32_t>(by);
    const std::uint32_t quotient = small / divisor;
    return {quotient, small - quotient * divisor};
  }
  const std::int64_t quotient = number / by;
  return {quotient, number - quotient * by};
}

}  // namespace mirrortrain::cuda
