#pragma once

namespace mirrortrain::tune {

/// Logarithm of the standard normal distribution's probability between `a` and `b`, accurate in both tails.
double log_normal_mass(double a, double b);

/// The x in [a, b] below which a standard normal number that lies in [a, b] is with probability `q`, in [0, 1].
double truncated_normal_quantile(double q, double a, double b);

}  // namespace mirrortrain::tune
