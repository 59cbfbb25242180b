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

using OfRanks = std::function<std::vector<float>(const std::vector<std::size_t>& ranks)>;

/// Takes about 1 / epsilon of `count` numbers at equal distances.
Summary summarize(std::size_t count, const OfRanks& of_ranks, double epsilon) {
  const double step = std::max(static_cast<double>(count) / (1.0 / epsilon), 1.0);
  std::vector<std::size_t> ranks;
  for (auto i = static_cast<std::size_t>(step - 1); i < count; i += static_cast<std::size_t>(step)) ranks.push_back(i);
  Summary summary;
  summary.numbers = of_ranks(ranks);
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
  std::ranges::sort(numbers);
  const auto of_ranks = [&](const std::vector<std::size_t>& ranks) {
    std::vector<float> chosen;
    chosen.reserve(ranks.size());
    for (const std::size_t rank : ranks) chosen.push_back(numbers[rank]);
    return chosen;
  };
  return quantile_boundaries(numbers.size(), of_ranks, bins, epsilon);
}

std::vector<double> quantile_boundaries(std::size_t count, const OfRanks& of_ranks, std::int64_t bins, double epsilon) {
  const Summary all = compress(summarize(count, of_ranks, epsilon), epsilon);
  const Summary ends = compress(all, 1.0 / static_cast<double>(bins));
  return {ends.numbers.begin(), ends.numbers.end() - 1};
}

std::int64_t most_quantile_bins(std::int64_t bins) {
  return static_cast<std::int64_t>(count_of_percents(1.0 / static_cast<double>(bins)));
}

}  // namespace mirrortrain::data
