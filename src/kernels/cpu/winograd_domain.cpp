#include "kernels/cpu/winograd_domain.h"

#include <algorithm>
#include <limits>

#include "kernels/cpu/winograd_transform.h"

namespace mirrortrain::cpu::winograd {
namespace {

/// Where a tile is.
struct TilePlace {
  std::int64_t image, row, column;  ///< row and column count tiles

  TilePlace(const Geometry& g, std::int64_t tile)
      : image(tile / g.tiles_per_image()),
        row(tile % g.tiles_per_image() / g.tile_columns()),
        column(tile % g.tile_columns()) {}
};

/// The rows of an image that a row of tiles reads or writes, in a buffer as wide as all its tiles, so that no tile
/// extends over an edge. Strides are in floats.
struct TileRows {
  std::int64_t height, width, channels;  ///< of the image
  std::int64_t count, top, left;         ///< rows; the buffer's corner, in pixels of the image
  std::int64_t stride;

  std::int64_t image_floats() const { return height * width * channels; }
  float* corner(float* buffer, std::int64_t tile_column) const { return buffer + tile_column * kOutputs * channels; }

  /// Calls visit(row of the buffer, its pixels in the image) for those of the first `rows` that are in the image.
  template <class Visit>
  void each_inside(float* buffer, std::int64_t rows, const Visit& visit) const {
    const std::int64_t end = std::min(rows, height - top);
    for (std::int64_t i = std::max<std::int64_t>(0, -top); i < end; ++i) {
      visit(buffer + i * stride - left * channels, (top + i) * width * channels);
    }
  }

  /// With zeros around the image.
  void read(const float* image, float* buffer) const {
    std::fill_n(buffer, std::min(count, std::max<std::int64_t>(0, -top)) * stride, 0.0f);
    const std::int64_t below = std::clamp<std::int64_t>(height - top, 0, count), row_floats = width * channels;
    std::fill_n(buffer + below * stride, (count - below) * stride, 0.0f);
    each_inside(buffer, count, [&](float* to, std::int64_t place) {
      float* const row = to + left * channels;
      std::fill_n(row, -left * channels, 0.0f);
      std::fill_n(to + row_floats, stride + left * channels - row_floats, 0.0f);
      each_vector(row_floats,
                  [=, from = image + place](std::int64_t i, auto part) { part.store(to + i, part.load(from + i)); });
    });
  }

  /// The first `rows` of them.
  void write(float* buffer, std::int64_t rows, bool past_caches, float* image) const {
    each_inside(buffer, rows, [&](const float* from, std::int64_t place) {
      each_vector(width * channels, [=, to = image + place](std::int64_t i, auto part) {
        if (past_caches) {
          stream(to + i, load(from + i));
        } else {
          part.store(to + i, part.load(from + i));
        }
      });
    });
  }
};

TileRows input_rows(const Geometry& g, std::int64_t tile_row) {
  return {g.height,
          g.width,
          g.channels,
          kPoints,
          tile_row * kOutputs - g.pad_top,
          -g.pad_left,
          (g.tile_columns() * kOutputs + kPoints - kOutputs) * g.channels};
}

TileRows output_rows(const Geometry& g, std::int64_t tile_row) {
  return {
      g.out_height, g.out_width, g.filters, kOutputs, tile_row * kOutputs, 0, g.tile_columns() * kOutputs * g.filters};
}

/// Floats of the images assigned to the tiles before `tile`, up to the end of their row of tiles: an even part of an
/// image for each row.
std::int64_t floats_before(const Geometry& g, std::int64_t tile, std::int64_t image_floats) {
  const std::int64_t row = (tile + g.tile_columns() - 1) / g.tile_columns();
  return row / g.tile_rows() * image_floats + row % g.tile_rows() * (image_floats / g.tile_rows());
}

std::int64_t odd_lines(std::int64_t floats) { return (floats / 16) % 2 == 0 ? floats + 16 : floats; }

}  // namespace

Geometry::Geometry(const ops::Conv2dAttributes& attributes, const Shape& x, const Shape& y)
    : images(x[0]), height(x[1]), width(x[2]), channels(x[3]), out_height(y[1]), out_width(y[2]), filters(y[3]) {
  pad_top = ops::window_axis(height, kFilter, 1, 1, attributes.padding).pad_before;
  pad_left = ops::window_axis(width, kFilter, 1, 1, attributes.padding).pad_before;
}

Domain::Domain(std::int64_t tile_count, std::int64_t channels)
    : tiles(tile_count),
      row_stride(odd_lines(kPointCount * round_up(channels, 16))),
      point_stride(round_up(channels, 16)) {}

std::int64_t tiles_per_block(std::int64_t tiles, std::int64_t channels) {
  constexpr std::int64_t kCacheFloats = 384 * 1024 / sizeof(float), kFewest = 24;
  const std::int64_t most = std::max(kFewest, kCacheFloats / (kPointCount * round_up(channels, 16)));
  const std::int64_t blocks = (tiles + most - 1) / most;
  return (tiles + blocks - 1) / blocks;
}

void bring(const Geometry& g, std::int64_t first, std::int64_t count, const float* images, std::int64_t image_floats) {
  const std::int64_t end = floats_before(g, first + count, image_floats);
  float sum = 0;
  for (std::int64_t i = floats_before(g, first, image_floats); i < end; i += kLine) sum += images[i];
  asm volatile("" : : "g"(sum));  // so that the compiler keeps the loop
}

bool may_stream(const float* images, std::int64_t floats, std::int64_t row_floats) {
  constexpr std::int64_t kKept = 8 * 1024 * 1024 / sizeof(float);  // smaller images stay cached for the next layer
  return floats > kKept && row_floats % kLine == 0 &&
         reinterpret_cast<std::uintptr_t>(images) % (kLine * sizeof(float)) == 0;
}

std::int64_t input_row_floats(const Geometry& g) { return kPoints * input_rows(g, 0).stride; }
std::int64_t output_row_floats(const Geometry& g) { return kOutputs * output_rows(g, 0).stride; }

// In the loops over channels everything is captured by value: anything that stores might alias would be reloaded after
// each.

void read_input(const Geometry& g, std::int64_t tile, const float* x, float* buffer, float* points,
                std::int64_t point_stride) {
  const TilePlace place(g, tile);
  const TileRows rows = input_rows(g, place.row);
  if (place.column == 0) rows.read(x + place.image * rows.image_floats(), buffer);
  const float* const corner = rows.corner(buffer, place.column);
  each_vector(g.channels, [=, row_stride = rows.stride, step = g.channels](std::int64_t channel, auto part) {
    transform_2d<InputToPoints>(
        [=](int row, int column) { return part.load(corner + row * row_stride + column * step + channel); },
        [=](int row, int column, const Vec& value) {
          store(points + (row * kPoints + column) * point_stride + channel, value);
        });
  });
}

void write_output(const Geometry& g, std::int64_t tile, const float* points, std::int64_t point_stride,
                  const float* bias, bool with_relu, float* buffer, bool past_caches, float* y) {
  const TilePlace place(g, tile);
  const TileRows rows = output_rows(g, place.row);
  float* const corner = rows.corner(buffer, place.column);
  const Vec floor = broadcast(with_relu ? 0.0f : -std::numeric_limits<float>::infinity());
  each_vector(g.filters, [=, row_stride = rows.stride, step = g.filters](std::int64_t filter, auto part) {
    const Vec added = bias ? part.load(bias + filter) : Vec{};
    transform_2d<PointsToOutput>(
        [=](int row, int column) { return load(points + (row * kPoints + column) * point_stride + filter); },
        [=](int row, int column, const Vec& value) {
          const Vec sum = value + added;
          part.store(corner + row * row_stride + column * step + filter, sum < floor ? floor : sum);
        });
  });
  if (place.column + 1 < g.tile_columns()) return;
  rows.write(buffer, kOutputs, past_caches, y + place.image * rows.image_floats());
}

void read_output_gradient(const Geometry& g, std::int64_t tile, const float* dy, float* buffer, float* points,
                          std::int64_t point_stride, float* bias) {
  const TilePlace place(g, tile);
  const TileRows rows = output_rows(g, place.row);
  if (place.column == 0) rows.read(dy + place.image * rows.image_floats(), buffer);
  const float* const corner = rows.corner(buffer, place.column);
  each_vector(g.filters, [=, row_stride = rows.stride, step = g.filters](std::int64_t filter, auto part) {
    Vec sum = bias ? load(bias + filter) : Vec{};
    transform_2d<OutputToPoints>(
        [=, &sum](int row, int column) {
          const Vec value = part.load(corner + row * row_stride + column * step + filter);
          sum += value;
          return value;
        },
        [=](int row, int column, const Vec& value) {
          store(points + (row * kPoints + column) * point_stride + filter, value);
        });
    if (bias) store(bias + filter, sum);
  });
}

void add_input_gradient(const Geometry& g, std::int64_t tile, const float* points, std::int64_t point_stride,
                        float* buffer, bool past_caches, float* dx) {
  const TilePlace place(g, tile);
  const TileRows rows = input_rows(g, place.row);
  if (place.column == 0) {
    // The last rows of the tiles above are the first rows of these.
    const std::int64_t shared = place.row == 0 ? 0 : (kPoints - kOutputs) * rows.stride;
    std::copy_n(buffer + kOutputs * rows.stride, shared, buffer);
    std::fill_n(buffer + shared, kPoints * rows.stride - shared, 0.0f);
  }
  float* const corner = rows.corner(buffer, place.column);
  each_vector(g.channels, [=, row_stride = rows.stride, step = g.channels](std::int64_t channel, auto part) {
    transform_2d<PointsToInput>(
        [=](int row, int column) { return load(points + (row * kPoints + column) * point_stride + channel); },
        [=](int row, int column, const Vec& value) {
          float* const pixel = corner + row * row_stride + column * step + channel;
          part.store(pixel, part.load(pixel) + value);
        });
  });
  if (place.column + 1 < g.tile_columns()) return;
  rows.write(buffer, place.row + 1 < g.tile_rows() ? kOutputs : kPoints, past_caches,
             dx + place.image * rows.image_floats());
}

}  // namespace mirrortrain::cpu::winograd
