#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "data/tables/adapted.h"
#include "report/event.h"
#include "strategy/strategy.h"
#include "train/checkpoint/run_folder.h"
#include "train/checkpoint/training_state.h"
#include "train/session/check_configuration.h"
#include "train/warnings/feature_scale.h"

namespace mirrortrain {

/// How a run ended.
struct RunResult {
  std::string status;      ///< done or stopped
  std::string stopped_by;  ///< "SIGTERM", "training.time_limit"; empty if it is done
  TrainingState state;
  double seconds = 0;
  std::optional<std::uint32_t> model_checksum;  ///< CRC-32 of model.safetensors, if it was written
  std::optional<report::EvaluationEvent> test;
  FeatureSizes features{};  ///< of the training data
};

/// Writes summary.json: final figures, parameters, replicas, devices, versions, seconds.
void write_summary(const std::filesystem::path& file, const CheckedConfiguration& checked, const Strategy& strategy,
                   const RunResult& result);

/// The step at which a run ended as done, by its summary.json; nullopt if it did not, or where a later part of it
/// wrote the summary anew.
std::optional<std::int64_t> read_done_step(const std::filesystem::path& file);

/// Whether a run is done because a callback ended it, by its summary.json.
bool ended_early(const std::filesystem::path& file);

/// The CRC-32 of the run's file of this name, by its summary.json; nullopt where it does not say.
std::optional<std::uint32_t> read_checksum(const std::filesystem::path& file, const std::string& name);

/// The sizes of the features that a run was trained on, by its summary.json; empty where it does not say.
FeatureSizes read_feature_sizes(const std::filesystem::path& file);

/// What a run kept of its training data; nullopt where it kept nothing. Throws Error where a file is not what the run,
/// once it was done, had written.
std::optional<data::Adapted> read_adapted(const RunFolder& folder);

/// "loss 0.3012, accuracy 0.8921"
std::string scores_text(const report::Scores& scores);

}  // namespace mirrortrain
