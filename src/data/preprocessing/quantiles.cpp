// Compiled without fused multiplications, as numpy rounds every product: the boundaries are Keras's to the last bit.
#include "data/preprocessing/quantiles.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace mirrortrain::data {
namespace {

/// Numbers in ascending order, each for as many of the data as its weight says.
struct Summary {
  std::vector<float> numbers, weights;
};

/// Takes about 1 / epsilon numbers at equal distances.
Summary summarize(std::vector<float> numbers, double epsilon) {
  std::ranges::sort(numbers);
  const double step = std::max(static_cast<double>(numbers.size()) / (1.0 / epsilon), 1.0);
  Summary summary;
  for (auto i = static_cast<std::size_t>(step - 1); i < numbers.size(); i += static_cast<std::size_t>(step)) {
    summary.numbers.push_back(numbers[i]);
  }
  summary.weights.assign(summary.numbers.size(), static_cast<float>(step));
  return summary;
}

/// numpy.interp at one place; `places` ascend.
double interpolated(double at, const std::vector<float>& places, const std::vector<float>& values) {
  const auto above = std::ranges::upper_bound(places, at, {}, [](float place) { return static_cast<double>(place); });
  if (above == places.begin()) return values.front();
  const auto i = static_cast<std::size_t>(above - places.begin()) - 1;
  const double place = places[i], value = values[i];
  if (above == places.end() || place == at) return value;
  const double slope = (values[i + 1] - value) / (places[i + 1] - place);
  return slope * (at - place) + value;
}

std::size_t count_of_percents(double epsilon) { return static_cast<std::size_t>(std::ceil(1.0 / epsilon)); }

Summary compress(const Summary& summary, double epsilon) {
  if (static_cast<double>(summary.numbers.size()) * epsilon < 1) return summary;
  std::vector<float> cumulated, shares;
  float sum = 0;
  for (const float weight : summary.weights) cumulated.push_back(sum += weight);
  for (const float one : cumulated) shares.push_back(one / sum);
  Summary compressed;
  double before = 0;
  for (std::size_t i = 0; i < count_of_percents(epsilon); ++i) {
    const double percent = epsilon + static_cast<double>(i) * epsilon;
    const double until = interpolated(percent, shares, cumulated);
    compressed.numbers.push_back(static_cast<float>(interpolated(percent, shares, summary.numbers)));
    compressed.weights.push_back(static_cast<float>(until - before));
    before = until;
  }
  return compressed;
}

}  // namespace

std::vector<double> quantile_boundaries(std::vector<float> numbers, std::int64_t bins, double epsilon) {
  const Summary all = compress(summarize(std::move(numbers), epsilon), epsilon);
  const Summary ends = compress(all, 1.0 / static_cast<double>(bins));
  return {ends.numbers.begin(), ends.numbers.end() - 1};
}

std::int64_t most_quantile_bins(std::int64_t bins) {
  return static_cast<std::int64_t>(count_of_percents(1.0 / static_cast<double>(bins)));
}

}  // namespace mirrortrain::data
