#include <algorithm>

#include "kernels/cpu/micro_gemm.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/winograd_domain.h"
#include "kernels/cpu/winograd_transform.h"

namespace mirrortrain::cpu::winograd {
namespace {

/// Every `stride`-th float, `count` of them, the rest of the vector zero.
Vec gather(const float* from, std::int64_t stride, std::int64_t count) {
  float lanes[kLanes] = {};
  for (std::int64_t i = 0; i < count; ++i) lanes[i] = from[i * stride];
  return load(lanes);
}

}  // namespace

DerivedForm filter_form(const Geometry& g, bool transposed, int threads) {
  // The matrix multiplication sums over `rows` and yields `columns`.
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
