#pragma once

#include "kernels/cuda/team.h"

// A number per position (the rows of all axes but the last) and the sum of them, as losses and metrics are made.
namespace mirrortrain::cuda {

/// Threads of the block that adds the numbers.
inline constexpr unsigned kSumBlock = 1024;

/// values[i] = body(team, i); a grid of one block also leaves their sum / divisor in `total`.
template <class Team, class Body>
__global__ void __launch_bounds__(kSumBlock)
    position_values(Body body, std::int64_t count, double divisor, double* values, double* total) {
  const Team team;
  for (std::int64_t i = team.first(); i < count; i += team.step()) {
    const double value = body(team, i);
    if (team.rank() == 0) values[i] = value;
  }
  if (gridDim.x > 1 || total == nullptr) return;
  __syncthreads();
  const double sum = block_sum_of(values, count);
  if (threadIdx.x == 0) *total = sum / divisor;
}

/// What a grid of several blocks leaves to do.
template <class Value>
__global__ void __launch_bounds__(kSumBlock)
    sum_values(const Value* values, std::int64_t count, double divisor, double* total) {
  const double sum = block_sum_of(values, count);
  if (threadIdx.x == 0) *total = sum / divisor;
}

/// Few positions are done in one launch of one block; more take a second that adds. `values` has room for `count`;
/// `total` may be null.
template <class Body>
void sum_positions(Stream& stream, const Body& body, std::int64_t count, std::int64_t row_elements, double divisor,
                   double* values, double* total) {
  with_team(row_elements, [&]<class Team>(Team) {
    const std::int64_t threads = (count * Team::kThreads + kWarpSize - 1) / kWarpSize * kWarpSize;
    if (threads <= 2 * kSumBlock) {
      const auto block = static_cast<unsigned>(std::clamp<std::int64_t>(threads, kWarpSize, kSumBlock));
      launch(stream, 1, block, 0, position_values<Team, Body>, body, count, divisor, values, total);
      return;
    }
    launch(stream, blocks_for(count, kBlock / Team::kThreads), kBlock, 0, position_values<Team, Body>, body, count,
           divisor, values, nullptr);
    if (total != nullptr) launch(stream, 1, kSumBlock, 0, sum_values<double>, values, count, divisor, total);
  });
}

}  // namespace mirrortrain::cuda
