#pragma once

#include <cstdint>

#include "base/philox.h"
#include "kernels/cuda/attention.h"
#include "kernels/cuda/fragments.h"

namespace mirrortrain::cuda {

/// Dropout's factors of the weights of a head of a row. A draw gives those of four source steps; lanes that need the
/// same ones draw one each and exchange them. What all draws have in common is in shared memory: registers are few.
class TileDropout {
 public:
  /// All threads take part, after the last use of another one.
  template <class T>
  __device__ TileDropout(const AttentionOperands<T>& in, std::int64_t row, std::int64_t head) : rate_(in.a.op.dropout) {
    if (rate_ == 0) return;
    if (threadIdx.x == 0) {
      common() = {Philox::with_key(in.params->seed),
                  static_cast<std::uint32_t>((in.a.sources + 3) / 4),
                  static_cast<std::uint32_t>(in.a.element(head, 0, 0) / 4),
                  static_cast<std::uint32_t>(in.params->first_row + row),
                  static_cast<std::uint32_t>(in.params->step),
                  in.a.op.stream,
                  1.0f / (1.0f - rate_)};
    }
    __syncthreads();
  }

  __device__ bool drops() const { return rate_ != 0; }

  /// For sums whose rows are steps from `step` on and whose columns are source steps from `source` on, a multiple of 8.
  __device__ void of_sources(float (&factor)[4], int step, int source) const {
    const int odd = lane_word() % 2;
    const Philox::Words own = draw(step + lane_row() + odd * 8, source / 4 + lane_word() / 2);
    float got[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float mine = kept(odd != 0 ? own.word[2 + i] : own.word[i]);
      got[i] = kept(__shfl_xor_sync(kAllLanes, odd != 0 ? own.word[i] : own.word[2 + i], 1));
      factor[i] = odd != 0 ? got[i] : mine;
      factor[2 + i] = odd != 0 ? mine : got[i];
    }
  }

  /// For sums whose rows are source steps from `source` on, a multiple of 8, and whose columns are steps from `step`
  /// on.
  __device__ void of_steps(float (&factor)[4], int source, int step) const {
    // Of four lanes with the same steps and neighbouring source steps, lane i draws for number i of their sums.
    const int own = lane_row() % 4;
    const Philox::Words drawn = draw(step + lane_word() * 2 + own % 2, source / 4 + lane_row() / 4 + own / 2 * 2);
    float got[4];
    got[0] = kept(pick(drawn.word, own));
#pragma unroll
    for (int other = 1; other < 4; ++other) {
      got[other] = kept(__shfl_xor_sync(kAllLanes, pick(drawn.word, own ^ other), other * 4));
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) factor[i] = pick(got, own ^ i);
  }

 private:
  struct Common {
    Philox philox;
    std::uint32_t draws_of_step, first_draw, row, step, stream;
    float kept;
  };
  __device__ static Common& common() {
    __shared__ Common values;
    return values;
  }
  __device__ static Philox::Words draw(int step, int number) {
    const Common& of = common();
    const std::uint32_t draw = of.first_draw + static_cast<std::uint32_t>(step) * of.draws_of_step;
    return of.philox(draw + static_cast<std::uint32_t>(number), of.row, of.step, of.stream);
  }
  __device__ float kept(std::uint32_t word) const { return uniform_from_bits(word) < rate_ ? 0.0f : common().kept; }
  /// from[i] without an address, which would put `from` into memory.
  template <class Value>
  __device__ static Value pick(const Value (&from)[4], int i) {
    const Value low = i % 2 == 0 ? from[0] : from[1], high = i % 2 == 0 ? from[2] : from[3];
    return i < 2 ? low : high;
  }

  float rate_;
};

}  // namespace mirrortrain::cuda
