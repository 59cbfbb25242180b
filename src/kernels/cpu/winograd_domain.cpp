#include "kernels/cpu/winograd_domain.h"

#include <algorithm>

#include "kernels/cpu/micro_gemm.h"
#include "kernels/cpu/parallel.h"
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
                  const float* bias, bool with_relu, float* y) {
  alignas(64) float outside[kLanes];
  const Pixels<kOutputs, float> pixels(output_window(geometry, tile), y, outside);
  each_vector(geometry.filters, [&](std::int64_t filter, auto part) {
    const Vec added = bias ? part.load(bias + filter) : Vec{};
    transform_2d<PointsToOutput>(
        [&](int row, int column) { return load(points + (row * kPoints + column) * point_stride + filter); },
        [&](int row, int column, const Vec& value) {
          const Vec sum = value + added;
          part.store(pixels.at(row, column, filter), with_relu ? relu(sum) : sum);
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

void add_input_gradient(const Geometry& geometry, std::int64_t tile, const float* points, std::int64_t point_stride,
                        float* dx) {
  alignas(64) float outside[kLanes] = {};
  const Pixels<kPoints, float> pixels(input_window(geometry, tile), dx, outside);
  each_vector(geometry.channels, [&](std::int64_t channel, auto part) {
    transform_2d<PointsToInput>(
        [&](int row, int column) { return load(points + (row * kPoints + column) * point_stride + channel); },
        [&](int row, int column, const Vec& value) {
          float* const pixel = pixels.at(row, column, channel);
          part.store(pixel, part.load(pixel) + value);
        });
  });
}

namespace {

/// Every `stride`-th float, `count` of them, the rest of the vector zero.
Vec gather(const float* from, std::int64_t stride, std::int64_t count) {
  float lanes[kLanes] = {};
  for (std::int64_t i = 0; i < count; ++i) lanes[i] = from[i * stride];
  return load(lanes);
}

}  // namespace

DerivedForm filter_form(const Geometry& g, bool transposed, int threads) {
  // The product takes sums over `rows` and yields `columns`.
  const std::int64_t rows = transposed ? g.filters : g.channels, columns = transposed ? g.channels : g.filters;
  const std::int64_t tap_stride = g.channels * g.filters;
  const std::int64_t row_step = transposed ? 1 : g.filters, column_step = transposed ? g.filters : 1;
  DerivedForm form{transposed ? "winograd 4x4 transposed" : "winograd 4x4",
                   static_cast<std::size_t>(kPointCount * rows * padded(columns)) * sizeof(float),
                   {}};
  form.refresh = [=](Stream&, const TensorView& canonical, std::byte* copy) {
    const float* const filters = canonical.as<float>();
    float* const points = reinterpret_cast<float*>(copy);
    parallel_for(threads, rows, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        for (std::int64_t column = 0; column < columns; column += kLanes) {
          const std::int64_t panel = column / panel_columns() * panel_columns();
          const std::int64_t panel_width = std::min(panel_columns(), padded(columns) - panel);
          const float* const from = filters + row * row_step + column * column_step;
          float* const to = points + panel * rows + row * panel_width + (column - panel);
          transform_2d<FilterToPoints>(
              [&](int i, int j) {
                return gather(from + (i * kFilter + j) * tap_stride, column_step,
                              std::min<std::int64_t>(kLanes, columns - column));
              },
              [&](int i, int j, const Vec& value) { store(to + (i * kPoints + j) * rows * padded(columns), value); });
        }
      }
    });
  };
  return form;
}

void multiply_by_filters(std::int64_t count, const float* from, const Domain& from_domain, std::int64_t from_channels,
                         const float* filters, float* to, const Domain& to_domain, std::int64_t to_channels) {
  const std::int64_t columns = padded(to_channels);
  for (int point = 0; point < kPointCount; ++point) {
    for (std::int64_t panel = 0; panel < columns; panel += panel_columns()) {
      const std::int64_t width = std::min(panel_columns(), columns - panel);
      multiply(count, width, from_channels, {from + point * from_domain.point_stride, from_domain.row_stride, 1},
               {filters + (point * columns + panel) * from_channels, width},
               {to + point * to_domain.point_stride + panel, to_domain.row_stride}, {});
    }
  }
}

std::size_t filter_sum_bytes(const Geometry& g) {
  return static_cast<std::size_t>((kPointCount * g.channels + 1) * round_up(g.filters, 16)) * sizeof(float);
}

float* bias_sums(const Geometry& g, float* filter_sums) {
  return filter_sums + kPointCount * g.channels * round_up(g.filters, 16);
}

void add_products(const Geometry& g, std::int64_t count, const float* inputs, const Domain& input_domain,
                  const float* outputs, const Domain& output_domain, float* filter_sums) {
  const std::int64_t stride = round_up(g.filters, 16);
  for (int point = 0; point < kPointCount; ++point) {
    multiply(g.channels, padded(g.filters), count,
             {inputs + point * input_domain.point_stride, 1, input_domain.row_stride},
             {outputs + point * output_domain.point_stride, output_domain.row_stride},
             {filter_sums + point * g.channels * stride, stride}, {.accumulate = true});
  }
}

void write_filter_gradient(const Geometry& g, const float* sums, std::int64_t sum_stride, int parts, int threads,
                           float* filters, float* bias) {
  const std::int64_t stride = round_up(g.filters, 16);
  const auto sum_of_parts = [&](const float* first) {
    Vec sum = load(first);
    for (int part = 1; part < parts; ++part) sum += load(first + part * sum_stride);
    return sum;
  };
  if (filters) {
    parallel_for(threads, g.channels, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t channel = begin; channel < end; ++channel) {
        each_vector(g.filters, [&](std::int64_t filter, auto part) {
          transform_2d<PointsToFilter>(
              [&](int i, int j) {
                return sum_of_parts(sums + ((i * kPoints + j) * g.channels + channel) * stride + filter);
              },
              [&](int i, int j, const Vec& value) {
                part.store(filters + ((i * kFilter + j) * g.channels + channel) * g.filters + filter, value);
              });
        });
      }
    });
  }
  if (!bias) return;
  const float* const bias_of_first = sums + kPointCount * g.channels * stride;
  each_vector(g.filters,
              [&](std::int64_t filter, auto part) { part.store(bias + filter, sum_of_parts(bias_of_first + filter)); });
}

}  // namespace mirrortrain::cpu::winograd
