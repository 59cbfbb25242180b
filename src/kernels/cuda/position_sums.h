#pragma once

#include "kernels/cuda/team.h"

// A number per position (the rows of all axes but the last) and the sum of them, as losses and metrics are made.
namespace mirrortrain::cuda {

inline constexpr unsigned kSumBlock = 1024;

/// partial[blockIdx.x]: the sum of body(team, i) over the block's positions. A grid of one block leaves it / divisor in
/// `total` instead, which may be null.
template <class Team, class Body>
__global__ void __launch_bounds__(kSumBlock)
    sum_of_positions(Body body, std::int64_t count, double divisor, double* partial, double* total) {
  const Team team;
  double sum = 0;
  for (std::int64_t i = team.first(); i < count; i += team.step()) {
    const double value = body(team, i);
    if (team.rank() == 0) sum += value;
  }
  sum = block_sum(sum);
  if (threadIdx.x > 0) return;
  if (gridDim.x > 1) {
    partial[blockIdx.x] = sum;
  } else if (total != nullptr) {
    *total = sum / divisor;
  }
}

/// What a grid of several blocks leaves to do.
template <class Partial>
__global__ void __launch_bounds__(kSumBlock)
    sum_of_blocks(const Partial* partial, std::int64_t count, double divisor, double* total) {
  const double sum = block_sum_of(partial, count);
  if (threadIdx.x == 0) *total = sum / divisor;
}

/// The sum over so many positions of so many elements, divided by `divisor`. Few positions are one launch of one block;
/// more take a second that adds what the blocks have.
class PositionSum {
 public:
  PositionSum(std::int64_t positions, std::int64_t row_elements, double divisor)
      : count_(positions), row_elements_(row_elements), divisor_(divisor) {
    with_team(row_elements, [&]<class Team>(Team) {
      const std::int64_t threads = (count_ * Team::kThreads + kWarpSize - 1) / kWarpSize * kWarpSize;
      if (threads <= 2 * kSumBlock) {
        block_ = static_cast<unsigned>(std::clamp<std::int64_t>(threads, kWarpSize, kSumBlock));
      } else {
        blocks_ = blocks_for(count_, kBlock / Team::kThreads);
      }
    });
  }

  /// Of the workspace that `run` needs.
  std::size_t bytes() const { return blocks_ > 1 ? blocks_ * sizeof(double) : 0; }

  /// `total` may be null: where the body is run for what else it writes.
  template <class Body>
  void run(Stream& stream, const Body& body, std::byte* workspace, double* total) const {
    auto* partial = reinterpret_cast<double*>(workspace);
    with_team(row_elements_, [&]<class Team>(Team) {
      launch(stream, blocks_, block_, 0, sum_of_positions<Team, Body>, body, count_, divisor_, partial, total);
    });
    if (blocks_ == 1 || total == nullptr) return;
    launch(stream, 1, kSumBlock, 0, sum_of_blocks<double>, partial, std::int64_t{blocks_}, divisor_, total);
  }

 private:
  std::int64_t count_, row_elements_;
  double divisor_;
  unsigned blocks_ = 1, block_ = kBlock;
};

}  // namespace mirrortrain::cuda
