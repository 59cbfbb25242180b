#pragma once

#include <cstdint>
#include <string_view>

namespace mirrortrain::tune {

/// Random numbers of a trial: a function of seed, trial, purpose and index alone, so that a search can be resumed
/// anywhere and has the same trials however many are trained at a time.
class TrialRandom {
 public:
  TrialRandom(std::uint64_t seed, int trial) : seed_(seed), trial_(static_cast<std::uint32_t>(trial)) {}
  /// In [0, 1), with 53 random bits. `purpose`: a parameter's key and the like.
  double uniform(std::string_view purpose, std::uint32_t index = 0) const;

 private:
  std::uint64_t seed_;
  std::uint32_t trial_;
};

}  // namespace mirrortrain::tune
