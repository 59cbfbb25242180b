#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace mirrortrain::data {

/// The boundaries between `bins` bins of about equally many of the numbers: what Keras's Discretization.adapt makes of
/// them in one batch, with `epsilon` as the error of their ranks. Fewer where there are fewer numbers than bins.
std::vector<double> quantile_boundaries(std::vector<float> numbers, std::int64_t bins, double epsilon);

/// The same of so many numbers that are not held: `of_ranks` gives those at these places, which ascend, of all in
/// ascending order.
std::vector<double> quantile_boundaries(
    std::size_t count, const std::function<std::vector<float>(const std::vector<std::size_t>& ranks)>& of_ranks,
    std::int64_t bins, double epsilon);

/// How many bins there are at most: one more where rounding gives 1 / (1 / bins) a fraction.
std::int64_t most_quantile_bins(std::int64_t bins);

}  // namespace mirrortrain::data
