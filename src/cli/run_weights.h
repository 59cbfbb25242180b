#pragma once

#include <cstdint>
#include <filesystem>

#include "train/run_folder.h"

namespace mirrortrain::cli {

/// Trained weights, and the step after which they were saved.
struct RunWeights {
  std::filesystem::path file;
  std::int64_t step = 0;  ///< 0 where it is not known
};

RunWeights weights_of_checkpoint(const std::filesystem::path& checkpoint);

/// A run's exported weights, or those of its newest checkpoint if that is later. Throws Error where it has neither.
RunWeights weights_of_run(const RunFolder& folder);

}  // namespace mirrortrain::cli
