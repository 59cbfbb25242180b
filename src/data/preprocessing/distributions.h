#pragma once

#include <cstdint>

#include "base/philox.h"

namespace mirrortrain::data {

/// The random words of two numbers, such as an example and an epoch.
Philox::Words words_of(const Philox& random, std::int64_t a, std::int64_t b);

/// Numbers drawn one after the other, a pure function of the seed and of what they are drawn for.
class RandomNumbers {
 public:
  /// `a` and `b`: what for, such as an example and an epoch.
  RandomNumbers(const Philox& seed, std::int64_t a, std::int64_t b);
  /// From the words of a draw.
  RandomNumbers(std::uint32_t key0, std::uint32_t key1) : random_{key0, key1} {}

  std::uint32_t word();
  /// In (0, 1).
  double uniform() { return (static_cast<double>(word()) + 0.5) / 4294967296.0; }
  /// In [0, bound), bound at most 2^32.
  std::uint64_t below(std::uint64_t bound) { return std::uint64_t{word()} * bound >> 32; }
  double normal();
  /// The logarithm of a number with the distribution Gamma(alpha, 1), which itself would underflow for a small alpha.
  double log_gamma(double alpha);
  /// With the distribution Beta(alpha, alpha).
  double beta(double alpha);

 private:
  Philox random_;
  std::uint32_t block_ = 0;
  Philox::Words words_{};
  int used_ = 4;
};

}  // namespace mirrortrain::data
