#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/parallel.h"

namespace mirrortrain::cpu {

/// Calls body(first, count) for blocks of channels: count is the constant 16, which compiles to vectors without a loop,
/// but for the rest at the end.
template <class Body>
inline void for_channel_blocks(std::int64_t channels, const Body& body) {
  constexpr std::int64_t kVector = 16;
  std::int64_t first = 0;
  for (; first + kVector <= channels; first += kVector) body(first, kVector);
  if (first < channels) body(first, channels - first);
}

/// Two sums per channel of [cells, channels] in double. Cells are split into chunks that do not depend on the threads,
/// so the bits do not either.
class ChannelSums {
 public:
  ChannelSums(std::int64_t cells, std::int64_t channels)
      : cells_(cells), channels_(channels), chunks_(std::clamp<std::int64_t>(cells / 256, 1, 32)) {}

  /// Doubles that `run` needs: a pair of rows of channels per chunk.
  std::int64_t doubles() const { return chunks_ * 2 * channels_; }

  /// Adds term(cell, channel), a pair {first, second}. The sums are then sums[channel] and sums[channels + channel].
  template <class Term>
  void run(int threads, double* sums, const Term& term) const {
    parallel_for(threads, chunks_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t chunk = begin; chunk < end; ++chunk) {
        double* to = sums + chunk * 2 * channels_;
        std::fill(to, to + 2 * channels_, 0.0);
        add(cells_ * chunk / chunks_, cells_ * (chunk + 1) / chunks_, to, term);
      }
    });
    for (std::int64_t chunk = 1; chunk < chunks_; ++chunk) {
      const double* from = sums + chunk * 2 * channels_;
      for (std::int64_t i = 0; i < 2 * channels_; ++i) sums[i] += from[i];
    }
  }

 private:
  /// A tile of cells at a time, so that each block of its channels is summed in registers while the tile is in the
  /// cache.
  template <class Term>
  void add(std::int64_t begin, std::int64_t end, double* to, const Term& term) const {
    constexpr std::int64_t kTile = 64;
    for (; begin < end; begin += kTile) {
      const std::int64_t tile_end = std::min(end, begin + kTile);
      for_channel_blocks(channels_, [&](std::int64_t first, std::int64_t count) {
        double a[16] = {}, b[16] = {};
        for (std::int64_t cell = begin; cell < tile_end; ++cell) {
          for (std::int64_t i = 0; i < count; ++i) {
            const auto [one, two] = term(cell, first + i);
            a[i] += one;
            b[i] += two;
          }
        }
        for (std::int64_t i = 0; i < count; ++i) {
          to[first + i] += a[i];
          to[channels_ + first + i] += b[i];
        }
      });
    }
  }

  std::int64_t cells_, channels_, chunks_;
};

}  // namespace mirrortrain::cpu
