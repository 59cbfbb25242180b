#include "kernels/cpu/winograd_domain.h"

#include <algorithm>

#include "kernels/cpu/winograd_transform.h"

namespace mirrortrain::cpu::winograd {
namespace {

/// A square of an image that may reach over its edges.
struct Window {
  std::int64_t origin, row_stride, channels;  ///< in floats from the images' start
  int row_begin, row_end, column_begin, column_end;

  std::int64_t at(int row, int column) const { return origin + row * row_stride + column * channels; }
  bool has(int row, int column) const {
    return row >= row_begin && row < row_end && column >= column_begin && column < column_end;
  }
};

Window window(std::int64_t image, std::int64_t row, std::int64_t column, int size, std::int64_t height,
              std::int64_t width, std::int64_t channels) {
  const auto clip = [size](std::int64_t at) { return static_cast<int>(std::clamp<std::int64_t>(at, 0, size)); };
  return {((image * height + row) * width + column) * channels,
          width * channels,
          channels,
          clip(-row),
          clip(height - row),
          clip(-column),
          clip(width - column)};
}

Window input_window(const Geometry& g, std::int64_t tile) {
  const std::int64_t image = tile / g.tiles_per_image(), inside = tile % g.tiles_per_image();
  return window(image, inside / g.tile_columns() * kOutputs - g.pad_top,
                inside % g.tile_columns() * kOutputs - g.pad_left, kPoints, g.height, g.width, g.channels);
}

Window output_window(const Geometry& g, std::int64_t tile) {
  const std::int64_t image = tile / g.tiles_per_image(), inside = tile % g.tiles_per_image();
  return window(image, inside / g.tile_columns() * kOutputs, inside % g.tile_columns() * kOutputs, kOutputs,
                g.out_height, g.out_width, g.filters);
}

/// Where a window's pixels are, those outside the image all at `outside`, which has one vector: so the loops over
/// channels need not branch.
template <int kSize, class Float>
struct Pixels {
  Float* data[kSize][kSize];
  std::int64_t channel_mask[kSize][kSize];

  Pixels(const Window& w, Float* images, Float* outside) {
    for (int row = 0; row < kSize; ++row) {
      for (int column = 0; column < kSize; ++column) {
        const bool has = w.has(row, column);
        data[row][column] = has ? images + w.at(row, column) : outside;
        channel_mask[row][column] = has ? -1 : 0;
      }
    }
  }
  Float* at(int row, int column, std::int64_t channel) const {
    return data[row][column] + (channel & channel_mask[row][column]);
  }
};

alignas(64) constexpr float kZeros[kLanes] = {};

/// What `tile` and those before it have of their own of images: rows of tiles each take an even part.
std::int64_t floats_before(const Geometry& g, std::int64_t tile, std::int64_t image_floats) {
  const std::int64_t row = (tile + g.tile_columns() - 1) / g.tile_columns();
  return row / g.tile_rows() * image_floats + row % g.tile_rows() * (image_floats / g.tile_rows());
}

/// The rows in which tiles of the input's gradient are added up: as many as a tile has, and as wide as all tiles, so
/// that none reaches over an edge.
struct GradientRows {
  std::int64_t stride, width;  ///< in floats

  explicit GradientRows(const Geometry& g)
      : stride((g.tile_columns() * kOutputs + kPoints - kOutputs) * g.channels), width(g.width * g.channels) {}

  /// The rows that the next row of tiles shares with the last move to the top.
  void advance(float* rows, bool is_first) const {
    const std::int64_t shared = is_first ? 0 : (kPoints - kOutputs) * stride;
    std::copy_n(rows + kOutputs * stride, shared, rows);
    std::fill_n(rows + shared, kPoints * stride - shared, 0.0f);
  }

  /// `row` is where the top lies in the image, which starts at dx.
  void write(const Geometry& g, const float* rows, std::int64_t row, bool is_last, bool past_caches, float* dx) const {
    const std::int64_t end = std::min<std::int64_t>(is_last ? kPoints : kOutputs, g.height - row);
    for (std::int64_t i = std::max<std::int64_t>(0, -row); i < end; ++i) {
      const float* const from = rows + i * stride + g.pad_left * g.channels;
      float* const to = dx + (row + i) * width;
      if (past_caches) {
        for (std::int64_t at = 0; at < width; at += kLanes) stream(to + at, load(from + at));
      } else {
        std::copy_n(from, width, to);
      }
    }
  }
};

std::int64_t odd_lines(std::int64_t floats) { return (floats / 16) % 2 == 0 ? floats + 16 : floats; }

}  // namespace

Geometry::Geometry(const ops::Conv2dAttributes& attributes, const Shape& x, const Shape& y)
    : images(x[0]), height(x[1]), width(x[2]), channels(x[3]), out_height(y[1]), out_width(y[2]), filters(y[3]) {
  pad_top = ops::window_axis(height, kFilter, 1, 1, attributes.padding).pad_before;
  pad_left = ops::window_axis(width, kFilter, 1, 1, attributes.padding).pad_before;
}

Domain::Domain(std::int64_t tiles, std::int64_t channels) {
  row_stride = round_up(channels, 16);
  if (row_stride % 128 == 0) row_stride += 16;
  point_stride = odd_lines(tiles * row_stride);
}

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
  asm volatile("" : : "g"(sum));  // so that the compiler lets the loop stand
}

bool may_stream(const float* images, std::int64_t floats, std::int64_t channels) {
  constexpr std::int64_t kKept = 512 * 1024 / sizeof(float);
  return kLanes == kLine && channels % kLine == 0 && floats > kKept &&
         reinterpret_cast<std::uintptr_t>(images) % (kLine * sizeof(float)) == 0;
}

void read_input(const Geometry& geometry, std::int64_t tile, const float* x, float* points, std::int64_t point_stride) {
  const Pixels<kPoints, const float> pixels(input_window(geometry, tile), x, kZeros);
  each_vector(geometry.channels, [&](std::int64_t channel, auto part) {
    transform_2d<InputToPoints>([&](int row, int column) { return part.load(pixels.at(row, column, channel)); },
                                [&](int row, int column, const Vec& value) {
                                  store(points + (row * kPoints + column) * point_stride + channel, value);
                                });
  });
}

void write_output(const Geometry& geometry, std::int64_t tile, const float* points, std::int64_t point_stride,
                  const float* bias, bool with_relu, bool past_caches, float* y) {
  alignas(64) float outside[kLanes];
  const Pixels<kOutputs, float> pixels(output_window(geometry, tile), y, outside);
  each_vector(geometry.filters, [&](std::int64_t filter, auto part) {
    const Vec added = bias ? part.load(bias + filter) : Vec{};
    transform_2d<PointsToOutput>(
        [&](int row, int column) { return load(points + (row * kPoints + column) * point_stride + filter); },
        [&](int row, int column, const Vec& value) {
          const Vec sum = value + added, result = with_relu ? relu(sum) : sum;
          float* const pixel = pixels.at(row, column, filter);
          past_caches ? stream(pixel, result) : part.store(pixel, result);
        });
  });
}

void read_output_gradient(const Geometry& geometry, std::int64_t tile, const float* dy, float* points,
                          std::int64_t point_stride, float* bias) {
  const Pixels<kOutputs, const float> pixels(output_window(geometry, tile), dy, kZeros);
  each_vector(geometry.filters, [&](std::int64_t filter, auto part) {
    Vec sum = bias ? load(bias + filter) : Vec{};
    transform_2d<OutputToPoints>(
        [&](int row, int column) {
          const Vec value = part.load(pixels.at(row, column, filter));
          sum += value;
          return value;
        },
        [&](int row, int column, const Vec& value) {
          store(points + (row * kPoints + column) * point_stride + filter, value);
        });
    if (bias) store(bias + filter, sum);
  });
}

std::int64_t gradient_rows_floats(const Geometry& geometry) { return kPoints * GradientRows(geometry).stride; }

void add_input_gradient(const Geometry& g, std::int64_t tile, const float* points, std::int64_t point_stride,
                        float* rows, bool past_caches, float* dx) {
  const GradientRows sums(g);
  const std::int64_t image = tile / g.tiles_per_image(), inside = tile % g.tiles_per_image();
  const std::int64_t row = inside / g.tile_columns(), column = inside % g.tile_columns();
  if (column == 0) sums.advance(rows, row == 0);
  float* const corner = rows + column * kOutputs * g.channels;
  each_vector(g.channels, [&](std::int64_t channel, auto part) {
    transform_2d<PointsToInput>(
        [&](int i, int j) { return load(points + (i * kPoints + j) * point_stride + channel); },
        [&](int i, int j, const Vec& value) {
          float* const pixel = corner + i * sums.stride + j * g.channels + channel;
          part.store(pixel, part.load(pixel) + value);
        });
  });
  if (column + 1 < g.tile_columns()) return;
  sums.write(g, rows, row * kOutputs - g.pad_top, row + 1 == g.tile_rows(), past_caches,
             dx + image * g.height * g.width * g.channels);
}

}  // namespace mirrortrain::cpu::winograd
