#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "train/configuration/search_options.h"

namespace mirrortrain::tune {

/// A round of a search: so many trials are trained to so many epochs.
struct Round {
  std::int64_t epochs = 0;  ///< 0: as the configuration says
  std::size_t trials = 0;
};

/// The rounds of a search of `trials` trials that are trained for `epochs` at most. With successive halving the last
/// round has all epochs and each one before it a fraction, `reduction_factor`, of the next one's, rounded down, as long
/// as that is `min_epochs`; of a round's trials that fraction, at least one, is trained in the next.
std::vector<Round> rounds_of(const SearchPruner& pruner, std::size_t trials, std::int64_t epochs);

/// A trial that a round has trained.
struct Ranked {
  int trial = 0;
  double loss = 0;  ///< the smaller, the better
};

/// The best `count` trials, ascending by number; of equal ones those with lower numbers. Fewer where there are fewer.
std::vector<int> best_trials(std::span<const Ranked> ranked, std::size_t count);

}  // namespace mirrortrain::tune
