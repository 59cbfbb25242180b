#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "base/safetensors.h"
#include "data/tables/adapted.h"
#include "model/initial_weights.h"
#include "strategy/strategy.h"
#include "train/checkpoint/named_run.h"
#include "train/session/check_configuration.h"

namespace mirrortrain {

/// Trained weights, and the step after which they were saved.
struct RunWeights {
  std::filesystem::path file;
  std::int64_t step = 0;                    ///< 0 if unknown
  std::optional<std::uint32_t> checksum{};  ///< of a run's exported weights
  std::optional<InitialWeights> initial{};  ///< if they are those that a configuration names
};

/// Those of the checkpoint that RUN names. Of a run, the exported weights, or those of its newest checkpoint if that is
/// later, with a warning unless `warns` is false; throws Error if it has neither.
RunWeights weights_of(const NamedRun& run, bool warns = true);

/// Those to evaluate: what --checkpoint, `given`, names (a safetensors file, a checkpoint's folder, or a checkpoint of
/// the run), else the run's, else those that the configuration names. `run_or_config`: the argument, for errors. Throws
/// Error and UsageError.
RunWeights weights_to_evaluate(const std::string& run_or_config, const std::optional<std::string>& given,
                               const std::optional<NamedRun>& run, const Configuration& configuration);

/// The tensors, whose checksum is verified, and if asked the file's CRC-32; not those that a configuration names.
/// Throws Error.
StoredTensors read_run_weights(const RunWeights& weights, std::uint32_t* crc32 = nullptr);
/// Verifies the checksum of weights of a checkpoint or a run. Called by every worker; the chief, whose `weights` count,
/// reads. Throws Error.
void load_run_weights(const RunWeights& weights, Strategy& strategy);

/// A run for a command that uses its network only on this machine.
struct TrainedRun {
  NamedRun named;
  CheckedConfiguration checked;
  std::optional<data::Adapted> adapted;  ///< the values that the run stored about its training data
};
/// `environment`: may name the cluster whose tasks share the command's work; by default there is none. Throws
/// UsageError if there is no such run, or if it has no model.
TrainedRun open_trained_run(
    const std::string& run, std::span<const std::string> overrides,
    const Environment& environment = [](const std::string&) { return std::nullopt; });

/// Loads the weights of the checkpoint that RUN names, or of the run, into `strategy`. Called by every worker; the
/// chief reads. Throws Error.
void load_trained_weights(const NamedRun& named, Strategy& strategy);

}  // namespace mirrortrain
