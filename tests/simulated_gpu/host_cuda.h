#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <source_location>
#include <type_traits>

#include "base/host_device.h"

// CUDA's words for plain C++: custom kernels are compiled a second time with this header in place of the toolkit's, and
// run on the host, where tests hold them against the same tables as the CPU's kernels. A block's threads are fibers
// that give way at barriers and warp exchanges and continue in an order that differs from launch to launch, so that a
// missing barrier shows as bits that change.

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
// Blocks run one after the other on a thread, so one copy per thread is one per block. Unlike dynamic shared memory it
// is not poisoned.
#define __shared__ static thread_local

namespace mirrortrain::cuda {

struct uint3 {
  unsigned x = 0, y = 0, z = 0;
};
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_size = 1, unsigned y_size = 1, unsigned z_size = 1) : x(x_size), y(y_size), z(z_size) {}
};

inline constinit thread_local uint3 threadIdx{}, blockIdx{};
inline constinit thread_local dim3 blockDim{}, gridDim{};

namespace host {

using Place = std::source_location;

/// Runs `kernel` for every thread of every block. Throws Error where a thread leaves while others of its block wait for
/// it, where threads wait at different barriers or with different masks, and where a block writes past its dynamic
/// shared memory, which is 0xff when it starts. What a kernel throws is thrown on.
void run_grid(dim3 grid, dim3 block, std::size_t shared_bytes, const std::function<void()>& kernel);

/// The running block's dynamic shared memory.
std::byte* dynamic_shared();

/// Returns when every thread of the block has come to this place.
void block_barrier(const Place& place);

/// Gives `value` to the warp and returns what `source_lane` gave, when every lane of the mask has come to this place.
std::uint64_t exchange(unsigned mask, std::uint64_t value, int source_lane, const Place& place);

/// As exchange, with one bit per lane that gave something other than 0.
unsigned ballot(unsigned mask, bool value, const Place& place);

int lane();

template <class T>
T exchange_value(unsigned mask, T value, int source_lane, const Place& place) {
  static_assert(std::is_trivially_copyable_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  return bit_cast<T>(static_cast<Bits>(exchange(mask, bit_cast<Bits>(value), source_lane, place)));
}

}  // namespace host

inline void __syncthreads(const host::Place& place = host::Place::current()) { host::block_barrier(place); }
inline void __syncwarp(unsigned mask = 0xffffffffu, const host::Place& place = host::Place::current()) {
  host::exchange(mask, 0, host::lane(), place);
}
inline void __threadfence() {}

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32, const host::Place& place = host::Place::current()) {
  return host::exchange_value(mask, value, (host::lane() & ~(width - 1)) + (source & (width - 1)), place);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int distance, int width = 32,
                  const host::Place& place = host::Place::current()) {
  const int lane = host::lane(), other = lane ^ distance;
  const bool above = (other & ~(width - 1)) > (lane & ~(width - 1));
  return host::exchange_value(mask, value, above ? lane : other, place);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned distance, int width = 32,
                   const host::Place& place = host::Place::current()) {
  const int lane = host::lane(), other = lane + static_cast<int>(distance);
  return host::exchange_value(mask, value, (lane & (width - 1)) + static_cast<int>(distance) < width ? other : lane,
                              place);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned distance, int width = 32,
                 const host::Place& place = host::Place::current()) {
  const int lane = host::lane(), within = lane & (width - 1);
  return host::exchange_value(mask, value,
                              within >= static_cast<int>(distance) ? lane - static_cast<int>(distance) : lane, place);
}
inline unsigned __ballot_sync(unsigned mask, int value, const host::Place& place = host::Place::current()) {
  return host::ballot(mask, value != 0, place);
}
inline int __any_sync(unsigned mask, int value, const host::Place& place = host::Place::current()) {
  return host::ballot(mask, value != 0, place) != 0;
}
inline int __all_sync(unsigned mask, int value, const host::Place& place = host::Place::current()) {
  return host::ballot(mask, value != 0, place) == mask;
}

// On integers alone: a sum of floats in no fixed order would not be reproducible.
template <class T>
T atomicAdd(T* to, std::type_identity_t<T> value) {
  static_assert(std::is_integral_v<T>);
  const T before = *to;
  *to = static_cast<T>(before + value);
  return before;
}
template <class T>
T atomicMax(T* to, std::type_identity_t<T> value) {
  static_assert(std::is_integral_v<T>);
  const T before = *to;
  *to = before < value ? value : before;
  return before;
}
template <class T>
T atomicMin(T* to, std::type_identity_t<T> value) {
  static_assert(std::is_integral_v<T>);
  const T before = *to;
  *to = value < before ? value : before;
  return before;
}
template <class T>
T atomicExch(T* to, std::type_identity_t<T> value) {
  static_assert(std::is_integral_v<T>);
  const T before = *to;
  *to = value;
  return before;
}
template <class T>
T atomicCAS(T* to, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  static_assert(std::is_integral_v<T>);
  const T before = *to;
  if (before == expected) *to = value;
  return before;
}

}  // namespace mirrortrain::cuda
