#pragma once

#include <cstdint>

#include "graph/ops/conv.h"
#include "kernels/kernel.h"

/// Shared by the Winograd kernels: how an image is cut into tiles, and the transforms of tiles into and out of the
/// domain in which the convolution is 36 matrix multiplications, one per point.
namespace mirrortrain::cpu::winograd {

inline constexpr int kPointCount = 36;

/// A convolution with 3x3 filters, stride 1, cut into tiles of 4x4 outputs that read 6x6 inputs.
struct Geometry {
  std::int64_t images, height, width, channels;
  std::int64_t out_height, out_width, filters;
  std::int64_t pad_top, pad_left;

  Geometry(const ops::Conv2dAttributes& attributes, const Shape& x, const Shape& y);

  std::int64_t tile_rows() const { return (out_height + 3) / 4; }
  std::int64_t tile_columns() const { return (out_width + 3) / 4; }
  std::int64_t tiles_per_image() const { return tile_rows() * tile_columns(); }
  std::int64_t tiles() const { return images * tiles_per_image(); }
};

/// A matrix [tile][channel] for each point. All points of a tile are adjacent: a transform reads or writes them in
/// order, while the matrix multiplications, which take longer, stride from tile to tile. That stride is an odd number
/// of lines, so that tiles are in different cache sets.
struct Domain {
  std::int64_t tiles = 0, row_stride = 0, point_stride = 0;  ///< strides in floats

  Domain() = default;
  Domain(std::int64_t tile_count, std::int64_t channels);
  std::size_t bytes() const { return static_cast<std::size_t>(tiles * row_stride) * sizeof(float); }
};

/// How many tiles to process at once, so that `channels`, the total of both domains, stay in the second-level cache;
/// blocks are of equal size where possible.
std::int64_t tiles_per_block(std::int64_t tiles, std::int64_t channels);

/// Prefetches the pixels assigned to `count` tiles from `first` on, in images of `image_floats` each, in order: the
/// hardware prefetcher follows that order, but not the squares that tiles read.
void bring(const Geometry& geometry, std::int64_t first, std::int64_t count, const float* images,
           std::int64_t image_floats);

// Each converts one tile of all channels; `points` is the tile's row at point 0. They require all tiles of an image in
// order, and copy between the tiles and the image through `buffer`, which holds a row of tiles:
// input_row_floats of them for x and dx, output_row_floats for y and dy.
void read_input(const Geometry& geometry, std::int64_t tile, const float* x, float* buffer, float* points,
                std::int64_t point_stride);
/// `past_caches`: with non-temporal stores, if may_stream allows; then call end_streaming.
void write_output(const Geometry& geometry, std::int64_t tile, const float* points, std::int64_t point_stride,
                  const float* bias, bool with_relu, float* buffer, bool past_caches, float* y);
/// Also adds the tile's elements to bias[filter], which has whole vectors.
void read_output_gradient(const Geometry& geometry, std::int64_t tile, const float* dy, float* buffer, float* points,
                          std::int64_t point_stride, float* bias);
/// Tiles overlap in dx: they are summed in `buffer`.
void add_input_gradient(const Geometry& geometry, std::int64_t tile, const float* points, std::int64_t point_stride,
                        float* buffer, bool past_caches, float* dx);
std::int64_t input_row_floats(const Geometry& geometry);
std::int64_t output_row_floats(const Geometry& geometry);

/// Whether images are best written with non-temporal stores, in rows of `row_floats`: they are too large for a lane's
/// share of the last-level cache, and rows are whole cache lines.
bool may_stream(const float* images, std::int64_t floats, std::int64_t row_floats);

// Filters and their gradient in the Winograd domain.

/// The filters in the domain, in panels for `multiply`: [point][panel of filters][channel][filter in the panel];
/// `transposed` has channels and filters exchanged, for the gradient of the input.
DerivedForm filter_form(const Geometry& geometry, bool transposed, int threads);

/// to = from times the filters, for `count` tiles; each has its own number of channels.
void multiply_by_filters(std::int64_t count, const float* from, const Domain& from_domain, std::int64_t from_channels,
                         const float* filters, float* to, const Domain& to_domain, std::int64_t to_channels);

/// Bytes of a thread's sum of the filters' gradient: a matrix [channel][filter] per point, followed by the bias
/// gradient.
std::size_t filter_sum_bytes(const Geometry& geometry);
float* bias_sums(const Geometry& geometry, float* filter_sums);

/// Adds the products of `count` tiles to filter_sums.
void add_products(const Geometry& geometry, std::int64_t count, const float* inputs, const Domain& input_domain,
                  const float* outputs, const Domain& output_domain, float* filter_sums);

/// Adds up the parts' sums, `sum_stride` floats apart, in order, and writes canonical gradients; either may be null.
void write_filter_gradient(const Geometry& geometry, const float* sums, std::int64_t sum_stride, int parts, int threads,
                           float* filters, float* bias);

}  // namespace mirrortrain::cpu::winograd
