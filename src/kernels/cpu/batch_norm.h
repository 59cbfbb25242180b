#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>

#include "graph/ops/batch_norm.h"
#include "kernels/cpu/loops.h"
#include "kernels/cpu/simd_elements.h"

namespace mirrortrain::cpu {

/// Calls visit(channel, part, index sequence of vectors) for groups of adjacent vectors of channels, so that wide cells
/// are read in pieces longer than a cache line.
template <class Visit>
inline void each_group(std::int64_t channels, const Visit& visit) {
  std::int64_t channel = 0;
  for (; channel + 4 * kLanes <= channels; channel += 4 * kLanes)
    visit(channel, Whole{}, std::make_index_sequence<4>{});
  for (; channel + 2 * kLanes <= channels; channel += 2 * kLanes)
    visit(channel, Whole{}, std::make_index_sequence<2>{});
  each_vector(channels - channel,
              [&](std::int64_t c, auto part) { visit(channel + c, part, std::make_index_sequence<1>{}); });
}

/// A tensor as cells of channels.
struct Cells {
  std::int64_t cells = 0, channels;
  int threads;

  Cells(const KernelSpecs& specs, const TensorView& x) : channels(x.shape.back()), threads(specs.threads) {
    if (channels > 0) cells = x.elements() / channels;
  }

  /// Calls prepare(channel, part)(element) for every vector of channels of every cell; element = cell * channels +
  /// channel. Values that depend only on the channel are thus computed once for many cells.
  template <class Prepare>
  void for_vectors(const Prepare& prepare) const {
    parallel_for(threads, cells, rows_per_thread(channels), [&](std::int64_t begin, std::int64_t end) {
      for (; begin < end; begin += kTile) for_tile(begin, std::min(end, begin + kTile), prepare);
    });
  }

 private:
  /// Cells whose vectors stay in the cache from one group of channels to the next.
  static constexpr std::int64_t kTile = 64;

  template <class Prepare>
  void for_tile(std::int64_t begin, std::int64_t end, const Prepare& prepare) const {
    each_group(
        channels, [&]<std::size_t... kV>(std::int64_t c, auto part, std::index_sequence<kV...>) {
          const std::array bodies{prepare(c + static_cast<std::int64_t>(kV) * kLanes, part)...};
          for (std::int64_t i = begin * channels + c; i < end * channels; i += channels) {
            (bodies[kV](i + static_cast<std::int64_t>(kV) * kLanes), ...);
          }
        });
  }
};

/// The factor and the offset that normalize applies to a channel; `gamma` and `beta` may be null.
inline float scale_of(float inverse, const float* gamma, std::int64_t channel) {
  return inverse * (gamma == nullptr ? 1.0f : gamma[channel]);
}
inline float shift_of(const float* beta, std::int64_t channel) { return beta == nullptr ? 0.0f : beta[channel]; }

/// y = (x - mean) scale + beta, then relu if requested.
template <class T>
void normalize(const Cells& shape, ops::Rectifier relu, const T* x, const float* mean, const float* scale,
               const float* beta, T* y) {
  const Vec least = broadcast(relu ? 0.0f : -std::numeric_limits<float>::infinity()), most = broadcast(relu.most);
  shape.for_vectors([=](std::int64_t c, auto part) {
    return [=, m = get(mean + c, part), s = get(scale + c, part), b = get(beta + c, part)](std::int64_t i) {
      const Vec value = (get(x + i, part) - m) * s + b;
      const Vec floored = value < least ? least : value;
      put(y + i, floored > most ? most : floored, part);
    };
  });
}

/// Bytes for `doubles`, then `vectors` of a float per channel.
inline std::size_t workspace_of(std::int64_t doubles, std::int64_t vectors, std::int64_t channels) {
  return static_cast<std::size_t>(doubles) * sizeof(double) +
         static_cast<std::size_t>(vectors * channels) * sizeof(float);
}

void add_batch_norm_inference_kernels(KernelRegistry& registry);

/// Two sums per channel over the cells of [cells, channels]: in float over a few cells, in double over all. Cells are
/// split into chunks independently of the threads, so the result is bitwise reproducible.
class ChannelSums {
 public:
  struct Pair {
    Vec first, second;

    void add(const Pair& other) {
      first += other.first;
      second += other.second;
    }
  };

  ChannelSums(std::int64_t cells, std::int64_t channels)
      : cells_(cells), channels_(channels), chunks_(std::clamp<std::int64_t>(cells / 256, 1, 32)) {}

  /// Doubles that `run` needs: two rows of channels per chunk.
  std::int64_t doubles() const { return chunks_ * 2 * channels_; }

  /// Adds the Pairs that prepare(channel, part)(element) gives, where element = cell * channels + channel. The sums are
  /// then sums[channel] and sums[channels + channel].
  template <class Prepare>
  void run(int threads, double* sums, const Prepare& prepare) const {
    const std::int64_t grain = rows_per_thread(cells_ / chunks_ * channels_);
    parallel_for(threads, chunks_, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t chunk = begin; chunk < end; ++chunk) {
        double* to = sums + chunk * 2 * channels_;
        std::fill(to, to + 2 * channels_, 0.0);
        add(cells_ * chunk / chunks_, cells_ * (chunk + 1) / chunks_, to, prepare);
      }
    });
    for (std::int64_t chunk = 1; chunk < chunks_; ++chunk) {
      const double* from = sums + chunk * 2 * channels_;
      for (std::int64_t i = 0; i < 2 * channels_; ++i) sums[i] += from[i];
    }
  }

 private:
  /// A tile of cells at a time, so that each vector of its channels is summed in registers while the tile is in the
  /// cache.
  template <class Prepare>
  void add(std::int64_t begin, std::int64_t end, double* to, const Prepare& prepare) const {
    constexpr std::int64_t kTile = 64;
    for (; begin < end; begin += kTile) {
      const std::int64_t tile_end = std::min(end, begin + kTile);
      each_group(
          channels_, [&]<std::size_t... kV>(std::int64_t c, auto part, std::index_sequence<kV...>) {
            const std::array terms{prepare(c + static_cast<std::int64_t>(kV) * kLanes, part)...};
            // Odd cells have separate sums, so that an addition need not wait for the one before.
            Pair total[sizeof...(kV)] = {}, odd[sizeof...(kV)] = {};
            std::int64_t i = begin * channels_ + c;
            for (const std::int64_t last = (tile_end - 1) * channels_; i < last; i += 2 * channels_) {
              (total[kV].add(terms[kV](i + static_cast<std::int64_t>(kV) * kLanes)), ...);
              (odd[kV].add(terms[kV](i + channels_ + static_cast<std::int64_t>(kV) * kLanes)), ...);
            }
            if (i < tile_end * channels_) (total[kV].add(terms[kV](i + static_cast<std::int64_t>(kV) * kLanes)), ...);
            (total[kV].add(odd[kV]), ...);
            (add_lanes(total[kV], part, to + c + static_cast<std::int64_t>(kV) * kLanes), ...);
          });
    }
  }

  template <class Part>
  void add_lanes(const Pair& pair, Part part, double* to) const {
    for (std::size_t i = 0; i < elements_of(part); ++i) {
      to[i] += static_cast<double>(pair.first[i]);
      to[static_cast<std::size_t>(channels_) + i] += static_cast<double>(pair.second[i]);
    }
  }

  std::int64_t cells_, channels_, chunks_;
};

/// Adds to `total` the sums of x - pivot and of its square, where the pivot is the first cell: near the mean even if
/// that is far from 0.
template <class T>
void add_deviations(const Cells& shape, const ChannelSums& sums, const T* x, double* total) {
  sums.run(shape.threads, total, [=](std::int64_t c, auto part) {
    return [=, pivot = get(x + c, part)](std::int64_t i) {
      const Vec deviation = get(x + i, part) - pivot;
      return ChannelSums::Pair{deviation, deviation * deviation};
    };
  });
}

/// The same over the cells that count (graph/ops/mask.h).
template <class T>
void add_masked_deviations(const Cells& shape, const ChannelSums& sums, const T* x, const float* mask, double* total) {
  sums.run(shape.threads, total, [=, channels = shape.channels](std::int64_t c, auto part) {
    return [=, pivot = get(x + c, part)](std::int64_t i) {
      const Vec deviation = mask[i / channels] != 0 ? get(x + i, part) - pivot : Vec{};
      return ChannelSums::Pair{deviation, deviation * deviation};
    };
  });
}

inline void store(float* to, std::int64_t channel, double value) {
  if (to != nullptr) to[channel] = static_cast<float>(value);
}

}  // namespace mirrortrain::cpu
