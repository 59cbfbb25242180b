#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "tune/search_space.h"

namespace mirrortrain::tune {

/// A uniform number in [0, 1) for a candidate: of stream 0 for the choice of a kernel, of stream 1 + i for the i-th
/// parameter.
using Uniforms = std::function<double(std::size_t stream, std::size_t candidate)>;

/// The density of good, or of other, values of several parameters, estimated from observed ones: a mixture of a kernel
/// around each observation and a wide one, the prior, over the whole space. A kernel is a product of a distribution of
/// each parameter: a truncated normal one, rounded where the parameter has steps, or one of the choices. As in Optuna's
/// TPESampler with its defaults, but for ordered choices, which have kernels of numbers as steps do.
class ParzenEstimator {
 public:
  /// `observed[i]`: the values of the i-th observation, one for each parameter; in order of their trials, as later ones
  /// weigh more where there are many.
  ParzenEstimator(std::vector<const Parameter*> parameters, const std::vector<std::vector<double>>& observed);

  /// A value for each parameter.
  std::vector<double> sample(const Uniforms& uniforms, std::size_t candidate) const;
  double log_density(std::span<const double> values) const;

 private:
  /// Of all kernels, for one parameter.
  struct Marginal {
    double low = 0, high = 0;                 ///< of a range, on its scale, half a step beyond its ends
    std::vector<double> means, deviations;    ///< by kernel
    std::vector<std::vector<double>> shares;  ///< of a choice: by kernel, the probability of each value
  };
  static Marginal make_marginal(const Parameter& parameter, const std::vector<double>& observed);
  static double sample_from(const Parameter& parameter, const Marginal& marginal, std::size_t kernel, double uniform);
  static double log_density_of(const Parameter& parameter, const Marginal& marginal, std::size_t kernel, double value);

  std::vector<const Parameter*> parameters_;
  std::vector<double> weights_;  ///< by kernel; they add up to 1
  std::vector<Marginal> marginals_;
};

}  // namespace mirrortrain::tune
