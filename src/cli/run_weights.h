#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "strategy/variables/variable_store.h"
#include "train/run_folder.h"

namespace mirrortrain::cli {

/// Trained weights, and the step after which they were saved.
struct RunWeights {
  std::filesystem::path file;
  std::int64_t step = 0;                    ///< 0 where it is not known
  std::optional<std::uint32_t> checksum{};  ///< of a run's exported weights
};

RunWeights weights_of_checkpoint(const std::filesystem::path& checkpoint);

/// A run's exported weights, or those of its newest checkpoint if that is later. Throws Error where it has neither.
RunWeights weights_of_run(const RunFolder& folder);

/// Those of a checkpoint or of a run are compared with their checksum. Throws Error.
void load_run_weights(const RunWeights& weights, const VariableStore& variables);

}  // namespace mirrortrain::cli
