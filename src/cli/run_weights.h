#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "data/tables/adapted.h"
#include "model/initial_weights.h"
#include "strategy/strategy.h"
#include "strategy/variables/variable_store.h"
#include "train/checkpoint/run_folder.h"
#include "train/session/check_configuration.h"

namespace mirrortrain::cli {

/// Trained weights, and the step after which they were saved.
struct RunWeights {
  std::filesystem::path file;
  std::int64_t step = 0;                    ///< 0 where it is not known
  std::optional<std::uint32_t> checksum{};  ///< of a run's exported weights
  std::optional<InitialWeights> initial{};  ///< where they are those that a configuration names
};

RunWeights weights_of_checkpoint(const std::filesystem::path& checkpoint);

/// A run's exported weights, or those of its newest checkpoint if that is later. Throws Error where it has neither.
RunWeights weights_of_run(const RunFolder& folder);

/// Those of a checkpoint or of a run are compared with their checksum. Throws Error.
void load_run_weights(const RunWeights& weights, const VariableStore& variables);

/// A run for a command that computes with its network on this machine alone.
struct TrainedRun {
  NamedRun named;
  CheckedConfiguration checked;
  std::optional<data::Adapted> adapted;  ///< what the run kept of its training data
};
/// Throws UsageError where there is no such run, or it has no model.
TrainedRun open_trained_run(const std::string& run, std::span<const std::string> overrides);

/// Gives `strategy` the weights of the checkpoint that RUN names, or of the run. Throws Error.
void load_trained_weights(const NamedRun& named, Strategy& strategy);

}  // namespace mirrortrain::cli
