#include "tune/parzen.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>

#include "tune/truncated_normal.h"

namespace mirrortrain::tune {
namespace {

constexpr double kPriorWeight = 1;

/// The last 25 observations weigh 1, the ones before them less, in proportion to their number.
std::vector<double> weights_of(std::size_t observations) {
  constexpr std::size_t kFull = 25;
  std::vector<double> weights(observations, 1.0);
  const std::size_t ramp = observations > kFull ? observations - kFull : 0;
  const double first = ramp > 0 ? 1.0 / static_cast<double>(observations) : 1;
  for (std::size_t i = 0; i < ramp; ++i) {
    weights[i] = ramp > 1 ? first + (1 - first) * static_cast<double>(i) / static_cast<double>(ramp - 1) : first;
  }
  weights.push_back(kPriorWeight);
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= sum;
  return weights;
}

/// Each kernel reaches to the farther one of its neighbours, the outermost to their only one; no kernel is so narrow
/// that it finds nothing but what was tried.
std::vector<double> deviations_of(const std::vector<double>& means, double low, double high) {
  const std::size_t count = means.size();
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return means[i]; });
  std::vector<double> deviations(count);
  const double least = (high - low) / std::min(100.0, 2.0 + static_cast<double>(count));
  for (std::size_t i = 0; i < count; ++i) {
    const double to_left = means[order[i]] - (i > 0 ? means[order[i - 1]] : low);
    const double to_right = (i + 1 < count ? means[order[i + 1]] : high) - means[order[i]];
    double deviation = std::max(to_left, to_right);
    if (count > 1 && i == 0) deviation = to_right;
    if (count > 1 && i + 1 == count) deviation = to_left;
    deviations[order[i]] = std::clamp(deviation, least, high - low);
  }
  return deviations;
}

/// Whether the parameter has kernels of numbers: a range's, or the places of ordered choices, of which a good one's
/// neighbours are more likely to be good than others.
bool has_numbers(const Parameter& parameter) {
  return parameter.kind != Parameter::Kind::kChoice || parameter.is_ordered;
}

double scaled(const Parameter& parameter, double value) { return parameter.is_log ? std::log(value) : value; }

/// A density of rounded numbers is that of all that are rounded to it.
double half_step(const Parameter& parameter) { return parameter.is_ordered ? 0.5 : parameter.step / 2; }

/// The ends of the numbers.
double first_of(const Parameter& parameter) { return parameter.is_ordered ? 0 : parameter.low; }
double last_of(const Parameter& parameter) {
  return parameter.is_ordered ? static_cast<double>(parameter.count()) - 1 : parameter.high;
}

std::size_t number_of(double choice) { return static_cast<std::size_t>(choice); }

/// The first index at which the sum of the shares so far exceeds `uniform`.
std::size_t drawn(const std::vector<double>& shares, double uniform) {
  double sum = 0;
  for (std::size_t i = 0; i + 1 < shares.size(); ++i) {
    sum += shares[i];
    if (sum > uniform) return i;
  }
  return shares.size() - 1;
}

}  // namespace

ParzenEstimator::ParzenEstimator(std::vector<const Parameter*> parameters,
                                 const std::vector<std::vector<double>>& observed)
    : parameters_(std::move(parameters)), weights_(weights_of(observed.size())) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    std::vector<double> values;
    for (const std::vector<double>& observation : observed) values.push_back(observation[i]);
    marginals_.push_back(make_marginal(*parameters_[i], values));
  }
}

ParzenEstimator::Marginal ParzenEstimator::make_marginal(const Parameter& parameter,
                                                         const std::vector<double>& observed) {
  Marginal marginal;
  if (!has_numbers(parameter)) {
    const std::size_t kernels = observed.size() + 1, choices = parameter.values.size();
    const double prior = kPriorWeight / static_cast<double>(kernels);
    const double sum = prior * static_cast<double>(choices) + 1;
    for (const double value : observed) {
      std::vector<double>& shares = marginal.shares.emplace_back(choices, prior / sum);
      shares[number_of(value)] = (prior + 1) / sum;
    }
    marginal.shares.emplace_back(choices, 1.0 / static_cast<double>(choices));
    return marginal;
  }
  marginal.low = scaled(parameter, first_of(parameter) - half_step(parameter));
  marginal.high = scaled(parameter, last_of(parameter) + half_step(parameter));
  for (const double value : observed) marginal.means.push_back(scaled(parameter, value));
  marginal.deviations = deviations_of(marginal.means, marginal.low, marginal.high);
  marginal.means.push_back((marginal.low + marginal.high) / 2);
  marginal.deviations.push_back(marginal.high - marginal.low);
  return marginal;
}

double ParzenEstimator::sample_from(const Parameter& parameter, const Marginal& marginal, std::size_t kernel,
                                    double uniform) {
  if (!has_numbers(parameter)) return static_cast<double>(drawn(marginal.shares[kernel], uniform));
  const double mean = marginal.means[kernel], deviation = marginal.deviations[kernel];
  const double standard =
      truncated_normal_quantile(uniform, (marginal.low - mean) / deviation, (marginal.high - mean) / deviation);
  const double number = standard * deviation + mean;
  if (parameter.is_ordered) return std::clamp(std::nearbyint(number), first_of(parameter), last_of(parameter));
  return nearest_value(parameter, parameter.is_log ? std::exp(number) : number);
}

double ParzenEstimator::log_density_of(const Parameter& parameter, const Marginal& marginal, std::size_t kernel,
                                       double value) {
  if (!has_numbers(parameter)) return std::log(marginal.shares[kernel][number_of(value)]);
  const double mean = marginal.means[kernel], deviation = marginal.deviations[kernel];
  const auto standard = [&](double number) { return (number - mean) / deviation; };
  const double of_all = log_normal_mass(standard(marginal.low), standard(marginal.high));
  if (const double half = half_step(parameter); half > 0) {
    return log_normal_mass(standard(scaled(parameter, value - half)), standard(scaled(parameter, value + half))) -
           of_all;
  }
  const double x = standard(scaled(parameter, value));
  const double log_two_pi = std::log(2 * std::numbers::pi);
  return -0.5 * (x * x + log_two_pi) - of_all - std::log(deviation);
}

std::vector<double> ParzenEstimator::sample(const Uniforms& uniforms, std::size_t candidate) const {
  const std::size_t kernel = drawn(weights_, uniforms(0, candidate));
  std::vector<double> values;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    values.push_back(sample_from(*parameters_[i], marginals_[i], kernel, uniforms(1 + i, candidate)));
  }
  return values;
}

double ParzenEstimator::log_density(std::span<const double> values) const {
  std::vector<double> of_kernels;
  for (std::size_t kernel = 0; kernel < weights_.size(); ++kernel) {
    double sum = std::log(weights_[kernel]);
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      sum += log_density_of(*parameters_[i], marginals_[i], kernel, values[i]);
    }
    of_kernels.push_back(sum);
  }
  const double largest = *std::ranges::max_element(of_kernels);
  if (std::isinf(largest)) return -std::numeric_limits<double>::infinity();
  double sum = 0;
  for (const double one : of_kernels) sum += std::exp(one - largest);
  return std::log(sum) + largest;
}

}  // namespace mirrortrain::tune
