#pragma once

#include <optional>

#include "data/dataset.h"
#include "data/options.h"

namespace mirrortrain::data {

struct Splits {
  Dataset train;
  std::optional<Dataset> validation, test;
};

/// Reads every split into memory, several at once. Throws Error for what is missing or broken.
Splits load(const DataOptions& options);

/// Reads one split, for an evaluation; nullopt where the configuration has none.
enum class Split { kTrain, kValidation, kTest };
std::optional<Dataset> load(const DataOptions& options, Split split);

}  // namespace mirrortrain::data
