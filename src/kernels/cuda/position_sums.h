#pragma once

#include "kernels/cuda/team.h"
#include "kernels/kernel.h"
#include "kernels/scalar/row.h"

// A number per position (the rows of all axes but the last) and the sum of them, for losses and metrics.
namespace mirrortrain::cuda {

inline constexpr unsigned kSumBlock = 1024;

// `Sums` are the terms: sums(team, i, values) stores the kCount numbers of position i in values.

template <class Body>
struct OneSum {
  static constexpr int kCount = 1;
  Body body;

  template <class Team>
  __device__ void operator()(Team team, std::int64_t i, double (&values)[kCount]) const {
    values[0] = body(Row<Team>{team}, i);
  }
};

template <class First, class Second>
struct TwoSums {
  static constexpr int kCount = 2;
  First first;
  Second second;

  template <class Team>
  __device__ void operator()(Team team, std::int64_t i, double (&values)[kCount]) const {
    values[0] = first(Row<Team>{team}, i);
    values[1] = second(Row<Team>{team}, i);
  }
};

/// Where sums go; either may be null.
struct Totals {
  double* to[2];
};

/// totals: the sums over all positions, divided by `divisor`. partial[sum][block] receives the blocks' sums, which the
/// last block adds up.
template <class Team, class Sums>
__global__ void __launch_bounds__(kSumBlock) sum_of_positions(Sums sums, std::int64_t count, double divisor,
                                                              double* partial, unsigned* blocks_done, Totals totals) {
  const Team team;
  double sum[Sums::kCount] = {}, value[Sums::kCount];
  for (std::int64_t i = team.first(); i < count; i += team.step()) {
    sums(team, i, value);
    for (int s = 0; s < Sums::kCount; ++s) sum[s] += team.rank() == 0 ? value[s] : 0.0;
  }
  for (double& one : sum) one = block_sum(one);
  if (gridDim.x > 1) {
    if (threadIdx.x == 0) {
      for (int s = 0; s < Sums::kCount; ++s) partial[s * gridDim.x + blockIdx.x] = sum[s];
    }
    if (!is_last_block(blocks_done)) return;
    for (int s = 0; s < Sums::kCount; ++s) sum[s] = block_sum_of(partial + s * gridDim.x, gridDim.x);
  }
  if (threadIdx.x > 0) return;
  for (int s = 0; s < Sums::kCount; ++s) {
    if (totals.to[s] != nullptr) *totals.to[s] = sum[s] / divisor;
  }
}

/// Sums over positions, divided by those of a batch's row, in one launch: for few positions, one block.
class PositionSum {
 public:
  explicit PositionSum(const scalar::PositionShape& shape)
      : count_(shape.count), row_elements_(shape.classes), divisor_(static_cast<double>(shape.per_row)) {
    with_team(row_elements_, [&]<class Team>(Team) {
      const std::int64_t threads = (count_ * Team::kThreads + kWarpSize - 1) / kWarpSize * kWarpSize;
      if (threads <= 2 * kSumBlock) {
        block_ = static_cast<unsigned>(std::clamp<std::int64_t>(threads, kWarpSize, kSumBlock));
      } else {
        blocks_ = blocks_for(count_, kBlock / Team::kThreads);
      }
    });
  }

  /// The sums over positions themselves.
  PositionSum undivided() const {
    PositionSum sum = *this;
    sum.divisor_ = 1;
    return sum;
  }

  /// Bytes of the workspace that `run` needs for so many sums.
  std::size_t bytes(int sums = 1) const {
    return blocks_ > 1 ? blocks_ * static_cast<std::size_t>(sums) * sizeof(double) : 0;
  }

  /// Totals may be null, if only the sums' side effects are needed.
  template <class Sums>
  void run(Stream& stream, const Sums& sums, const KernelArgs& args, const Totals& totals) const {
    with_team(row_elements_, [&]<class Team>(Team) {
      launch(stream, blocks_, block_, 0, sum_of_positions<Team, Sums>, sums, count_, divisor_,
             reinterpret_cast<double*>(args.workspace), args.blocks_done, totals);
    });
  }

 private:
  std::int64_t count_, row_elements_;
  double divisor_;
  unsigned blocks_ = 1, block_ = kBlock;
};

}  // namespace mirrortrain::cuda
