#pragma once

#include <cstdint>
#include <vector>

namespace mirrortrain::data {

/// The boundaries between `bins` bins of about equally many of the numbers: what Keras's Discretization.adapt makes of
/// them in one batch, with `epsilon` as the error of their ranks. Fewer where there are fewer numbers than bins.
std::vector<double> quantile_boundaries(std::vector<float> numbers, std::int64_t bins, double epsilon);

/// How many bins there are at most: one more where rounding gives 1 / (1 / bins) a fraction.
std::int64_t most_quantile_bins(std::int64_t bins);

}  // namespace mirrortrain::data
