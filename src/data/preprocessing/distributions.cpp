#include "data/preprocessing/distributions.h"

#include <cmath>
#include <numbers>

namespace mirrortrain::data {

Philox::Words words_of(const Philox& random, std::int64_t a, std::int64_t b) {
  const auto low = [](std::int64_t number) { return static_cast<std::uint32_t>(number); };
  const auto high = [](std::int64_t number) { return static_cast<std::uint32_t>(number >> 32); };
  return random(low(a), high(a), low(b), high(b));
}

RandomNumbers::RandomNumbers(const Philox& seed, std::int64_t a, std::int64_t b) : random_(seed) {
  const Philox::Words key = words_of(seed, a, b);
  random_ = {key.word[0], key.word[1]};
}

std::uint32_t RandomNumbers::word() {
  if (used_ == 4) {
    words_ = random_(block_++, 2, 0, 0);
    used_ = 0;
  }
  return words_.word[used_++];
}

double RandomNumbers::normal() {
  const double radius = std::sqrt(-2 * std::log(uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

/// Marsaglia and Tsang: "A simple method for generating gamma variables", 2000.
double RandomNumbers::log_gamma(double alpha) {
  if (alpha < 1) {
    const double larger = log_gamma(alpha + 1);
    return larger + std::log(uniform()) / alpha;
  }
  const double d = alpha - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = normal(), root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(uniform()) < x * x / 2 + d - d * v + d * std::log(v)) return std::log(d * v);
  }
}

double RandomNumbers::beta(double alpha) {
  const double a = log_gamma(alpha), b = log_gamma(alpha);
  return 1 / (1 + std::exp(b - a));
}

}  // namespace mirrortrain::data
