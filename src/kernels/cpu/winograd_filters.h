#pragma once

#include "kernels/cpu/winograd_domain.h"

/// Filters and their gradient in the Winograd domain, where they meet the tiles.
namespace mirrortrain::cpu::winograd {

/// The filters in the domain, in panels for `multiply`: [point][panel of filters][channel][filter in the panel];
/// `transposed` has channels and filters exchanged, for the gradient of the input.
DerivedForm filter_form(const Geometry& geometry, bool transposed, int threads);

/// to = from times the filters, for `count` tiles; each has its own number of channels.
void multiply_by_filters(std::int64_t count, const float* from, const Domain& from_domain, std::int64_t from_channels,
                         const float* filters, float* to, const Domain& to_domain, std::int64_t to_channels);

/// What a thread sums of the filters' gradient: a matrix [channel][filter] per point and, after them, the bias
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
