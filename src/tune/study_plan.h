#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "train/session/check_configuration.h"
#include "tune/halving.h"
#include "tune/search_space.h"

namespace mirrortrain::tune {

/// What a study searches, and how; the same whenever it is continued.
struct StudyPlan {
  std::string config;  ///< the file that its trials are runs of
  std::vector<std::string> overrides;
  const CheckedConfiguration& checked;
  SearchSpace space;
  std::vector<Round> rounds;
  /// How many runs a trial is: one for each fold of the data, of which a trial's value is the mean; 1 without folds.
  std::int64_t folds = 1;

  const SearchOptions& search() const { return *checked.values().search; }
};

}  // namespace mirrortrain::tune
