#include "report/mean_scores.h"

#include <cmath>
#include <cstddef>

namespace mirrortrain::report {
namespace {

/// Each score from those of all runs.
template <class Combine>
Scores combined(std::span<const Scores> all, const Combine& combine) {
  const auto of = [&](const auto& score) {
    std::vector<double> numbers;
    for (const Scores& scores : all) numbers.push_back(score(scores));
    return combine(numbers);
  };
  Scores result;
  result.loss = of([](const Scores& scores) { return scores.loss; });
  for (std::size_t i = 0; i < all.front().metrics.size(); ++i) {
    result.metrics.emplace_back(all.front().metrics[i].first,
                                of([i](const Scores& scores) { return scores.metrics[i].second; }));
  }
  return result;
}

}  // namespace

double mean_of(std::span<const double> numbers) {
  double sum = 0;
  for (const double number : numbers) sum += number;
  return sum / static_cast<double>(numbers.size());
}

double deviation_of(std::span<const double> numbers) {
  const double mean = mean_of(numbers);
  std::vector<double> squares;
  for (const double number : numbers) squares.push_back((number - mean) * (number - mean));
  return std::sqrt(mean_of(squares));
}

Scores mean_of(std::span<const Scores> all) {
  return combined(all, [](const std::vector<double>& numbers) { return mean_of(numbers); });
}

Scores deviation_of(std::span<const Scores> all) {
  return combined(all, [](const std::vector<double>& numbers) { return deviation_of(numbers); });
}

}  // namespace mirrortrain::report
