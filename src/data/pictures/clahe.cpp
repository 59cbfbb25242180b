// Contrast limited adaptive histogram equalization, as Keras 3.15 does it.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "data/pictures/color.h"

namespace mirrortrain::data {
namespace {

constexpr std::int64_t kBins = 256;

/// One axis of the tiles.
struct Tiles {
  std::int64_t count, extent, length;  ///< tiles; of the picture; of a tile
  static Tiles of(std::int64_t count, std::int64_t extent) { return {count, extent, (extent + count - 1) / count}; }

  /// The tiles before and behind a pixel's place among their middles, and how near the second is.
  struct Near {
    std::int64_t first, second;
    float of_second;
  };
  Near near(std::int64_t pixel) const {
    const auto whole = static_cast<float>(length);
    const float place = (static_cast<float>(pixel) - whole / 2) / whole;
    const auto first = static_cast<std::int64_t>(std::floor(place));
    return {std::clamp<std::int64_t>(first, 0, count - 1), std::clamp<std::int64_t>(first + 1, 0, count - 1),
            place - std::floor(place)};
  }
  /// Beyond the edge the picture is mirrored.
  std::int64_t inside(std::int64_t pixel) const {
    pixel %= 2 * extent;
    return pixel < extent ? pixel : 2 * extent - 1 - pixel;
  }
};

/// What each of a tile's values becomes, from the counts of its pixels.
void equalize_counts(std::vector<float>& counts, float pixels, double clip_limit) {
  if (clip_limit > 0) {
    const auto limit = static_cast<float>(clip_limit * static_cast<double>(pixels) / 256);
    float excess = 0;
    for (float& count : counts) {
      excess += count - std::min(count, limit);
      count = std::min(count, limit);
    }
    for (float& count : counts) count += excess / 256;
  }
  float sum = 0;
  for (float& count : counts) count = sum += count;
  const float least = counts.front();
  const float all = pixels - least == 0 ? 1 : pixels - least;
  for (float& count : counts) count = std::clamp((count - least) * 255 / all, 0.0f, 255.0f);
}

}  // namespace

void equalize_tiles(const float* from, const Extents& extents, double clip_limit,
                    const std::array<std::int64_t, 2>& grid, const Range& range, float* to) {
  const Tiles rows = Tiles::of(grid[0], extents.height), columns = Tiles::of(grid[1], extents.width);
  const auto least = static_cast<float>(range[0]), width = static_cast<float>(range[1]) - least;
  const auto bin_of = [&](float x) { return place_of((x - least) / width * 255, kBins - 1); };
  std::vector<std::vector<float>> tables(static_cast<std::size_t>(rows.count * columns.count));
  for (std::int64_t c = 0; c < extents.channels; ++c) {
    const auto at = [&](std::int64_t y, std::int64_t x) { return (y * extents.width + x) * extents.channels + c; };
    for (std::int64_t tile = 0; tile < std::ssize(tables); ++tile) {
      std::vector<float>& counts = tables[static_cast<std::size_t>(tile)];
      counts.assign(static_cast<std::size_t>(kBins), 0);
      for (std::int64_t y = 0; y < rows.length; ++y) {
        for (std::int64_t x = 0; x < columns.length; ++x) {
          counts[bin_of(from[at(rows.inside(tile / columns.count * rows.length + y),
                                columns.inside(tile % columns.count * columns.length + x))])] += 1;
        }
      }
      equalize_counts(counts, static_cast<float>(rows.length * columns.length), clip_limit);
    }
    for (std::int64_t y = 0; y < extents.height; ++y) {
      const Tiles::Near row = rows.near(y);
      for (std::int64_t x = 0; x < extents.width; ++x) {
        const Tiles::Near column = columns.near(x);
        const std::size_t bin = bin_of(from[at(y, x)]);
        const auto in_row = [&](std::int64_t tiles) {
          const auto of_tile = [&](std::int64_t tile) {
            return tables[static_cast<std::size_t>(tiles * columns.count + tile)][bin];
          };
          return of_tile(column.first) * (1 - column.of_second) + of_tile(column.second) * column.of_second;
        };
        const float byte = in_row(row.first) * (1 - row.of_second) + in_row(row.second) * row.of_second;
        to[at(y, x)] = byte / 255 * width + least;
      }
    }
  }
}

}  // namespace mirrortrain::data
