#pragma once

#include "kernels/cuda/reduce.h"
#include "kernels/scalar/row.h"

// The threads that share a row. Each has rank() and size() in its team, and a team processes every step()-th row from
// first() on. Reductions use a fixed tree, return their result to every thread, and need all threads of the team.
namespace mirrortrain::cuda {

/// Part of a warp, or all of it.
template <int kWidth>
struct Lanes {
  static constexpr unsigned kThreads = kWidth;

  __device__ static unsigned rank() { return threadIdx.x % kWidth; }
  __device__ static unsigned size() { return kWidth; }
  __device__ static std::int64_t first() { return grid_thread() / kWidth; }
  __device__ static std::int64_t step() { return grid_threads() / kWidth; }

  template <class T, class Combine>
  __device__ static T reduce(T value, T, const Combine& combine) {
    const unsigned first_lane = threadIdx.x % kWarpSize / kWidth * kWidth;
    const unsigned mask = kWidth == kWarpSize ? kAllLanes : ((1u << kWidth % kWarpSize) - 1) << first_lane;
#pragma unroll
    for (int distance = kWidth / 2; distance > 0; distance /= 2) {
      value = combine(value, __shfl_xor_sync(mask, value, distance, kWidth));
    }
    return value;
  }
};

struct WholeBlock {
  static constexpr unsigned kThreads = kBlock;

  __device__ static unsigned rank() { return threadIdx.x; }
  __device__ static unsigned size() { return blockDim.x; }
  __device__ static std::int64_t first() { return blockIdx.x; }
  __device__ static std::int64_t step() { return gridDim.x; }

  template <class T, class Combine>
  __device__ static T reduce(T value, T neutral, const Combine& combine) {
    return block_reduce(value, neutral, combine);
  }
};

template <class Team, class T>
__device__ inline T team_sum(Team team, T value) {
  return team.reduce(value, T{0}, Plus<T>{});
}

/// NaN is ignored, as in `a > b ? a : b` starting at minus infinity.
template <class Team>
__device__ inline float team_max(Team team, float value) {
  return team.reduce(value, -INFINITY, [](float a, float b) { return a > b ? a : b; });
}

/// The elements of a row that are this thread's.
template <class Team, class Body>
__device__ inline void each_element(Team team, std::int64_t elements, const Body& body) {
  for (std::int64_t i = team.rank(); i < elements; i += team.size()) body(i);
}

/// A row of the last axis that a team shares; see kernels/scalar/row.h for a row's interface.
template <class Team>
struct Row {
  using Real = float;
  static constexpr bool kKeeps = false;  // in memory, and perhaps rounded
  Team team;

  template <class Body>
  __device__ void each(std::int64_t count, const Body& body) const {
    each_element(team, count, body);
  }
  template <class T>
  __device__ float load(const T* from, std::int64_t i) const {
    return static_cast<float>(from[i]);
  }
  template <class T>
  __device__ void store(T* to, std::int64_t i, float value) const {
    to[i] = T(value);
  }
  __device__ std::int32_t index(std::int64_t i) const { return static_cast<std::int32_t>(i); }

  template <class Value>
  __device__ float sum(std::int64_t count, const Value& value) const {
    float total = 0;
    each(count, [&](std::int64_t i) { total += value(i); });
    return team_sum(team, total);
  }
  template <class Value>
  __device__ double exact_sum(std::int64_t count, const Value& value) const {
    double total = 0;
    each(count, [&](std::int64_t i) { total += static_cast<double>(value(i)); });
    return team_sum(team, total);
  }
  template <class Value>
  __device__ scalar::Two<double> exact_sums(std::int64_t count, const Value& value) const {
    double first = 0, second = 0;
    each(count, [&](std::int64_t i) {
      const scalar::Two<float> two = value(i);
      first += static_cast<double>(two.first);
      second += static_cast<double>(two.second);
    });
    return {team_sum(team, first), team_sum(team, second)};
  }
  template <class Value>
  __device__ float largest(std::int64_t count, const Value& value) const {
    float most = -INFINITY;
    each(count, [&](std::int64_t i) {
      const float one = value(i);
      most = one > most ? one : most;
    });
    return team_max(team, most);
  }
  template <class Value>
  __device__ std::int32_t smallest(std::int64_t count, const Value& value) const {
    std::int32_t least = INT32_MAX;
    each(count, [&](std::int64_t i) {
      const std::int32_t one = value(i);
      least = one < least ? one : least;
    });
    return team.reduce(least, INT32_MAX, [](std::int32_t a, std::int32_t b) { return a < b ? a : b; });
  }
};

/// Calls function(team) with a team that suits rows of so many elements.
template <class Function>
auto with_team(std::int64_t row_elements, const Function& function) {
  if (row_elements <= 32) return function(Lanes<8>{});
  if (row_elements <= 1024) return function(Lanes<32>{});
  return function(WholeBlock{});
}

}  // namespace mirrortrain::cuda
