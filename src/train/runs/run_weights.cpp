#include "train/runs/run_weights.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/error.h"
#include "base/safetensors.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/load_initial_weights.h"
#include "train/checkpoint/weights.h"
#include "train/runs/summary.h"
#include "train/session/check_configuration.h"
#include "train/session/run.h"

namespace mirrortrain {
namespace {

namespace fs = std::filesystem;

/// Alternatives to damaged weights, which every command accepts as RUN; `damaged`: a checkpoint.
std::string other_weights(const RunFolder& run, const fs::path& damaged = {}) {
  const auto newest = newest_checkpoint(run.checkpoints());
  if (newest && *newest != damaged) {
    return fmt::format("name a checkpoint, {}", (run.path / newest->filename()).string());
  }
  return damaged.empty() ? "the run has no checkpoint to take in its place; train again"
                         : "name another checkpoint or the run";
}

RunWeights weights_of_checkpoint(const fs::path& checkpoint) {
  std::int64_t step = step_of_checkpoint(checkpoint);
  if (checkpoint.filename() == kBestCheckpoint) {
    try {
      step = read_checkpoint_state(checkpoint).training.step;
    } catch (const Error&) {  // reported when its weights are read
    }
  }
  return {checkpoint / "model.safetensors", step};
}

/// The exported weights, or those of the newest checkpoint if that is later.
RunWeights weights_of_run(const RunFolder& folder, bool warns) {
  const auto newest = newest_checkpoint(folder.checkpoints());
  const std::int64_t done = read_done_step(folder.summary()).value_or(0);
  const bool is_exported = fs::exists(folder.model());
  if (is_exported && (!newest || step_of_checkpoint(*newest) <= done)) {
    return {folder.model(), done, read_checksum(folder.summary(), "model.safetensors")};
  }
  if (!newest) throw Error(fmt::format("{}: the run has saved no weights yet", folder.path.string()));
  if (warns)
    spdlog::warn(
        "{}: {}; using {}", folder.path.string(),
        is_exported ? "the run continued after model.safetensors was written" : "the run has no model.safetensors yet",
        newest->filename().string());
  return weights_of_checkpoint(*newest);
}

/// The weights that --checkpoint names: a safetensors file, a checkpoint's folder, or a checkpoint of the run.
RunWeights given_weights(const std::string& given, const std::optional<RunFolder>& folder) {
  if (fs::is_regular_file(given)) return {given};
  if (folder) {
    const fs::path own = folder->checkpoints() / given;
    if (fs::is_directory(own)) return weights_of_checkpoint(own);
  }
  if (folder && !fs::exists(given) && !fs::path(given).has_parent_path() && !find_run(given)) {
    throw UsageError(fmt::format("--checkpoint {}: {}", given, no_checkpoint_text(*folder, given)));
  }
  if (!fs::exists(given) || find_run(given)) {
    return weights_of(require_run(given, "--checkpoint"));
  }
  // runs/a/checkpoints/step-000500/ ends in an empty name.
  const fs::path checkpoint = given;
  return weights_of_checkpoint(checkpoint.has_filename() ? checkpoint : checkpoint.parent_path());
}

}  // namespace

RunWeights weights_of(const NamedRun& run, bool warns) {
  return run.checkpoint ? weights_of_checkpoint(*run.checkpoint) : weights_of_run(run.folder, warns);
}

RunWeights weights_to_evaluate(const std::string& run_or_config, const std::optional<std::string>& given,
                               const std::optional<NamedRun>& run, const Configuration& configuration) {
  const std::optional<RunFolder> folder = run ? std::optional(run->folder) : std::nullopt;
  if (given) return given_weights(*given, folder);
  if (run) return weights_of(*run);
  if (const auto& initial = configuration.model->initial_weights)
    return {.file = file_of(*initial), .initial = *initial};
  throw UsageError(
      fmt::format("{}: there is no run '{}' in runs/ and no model.initial_weights; run fit first, or give "
                  "--checkpoint FILE",
                  run_or_config, configuration.name.text));
}

StoredTensors read_run_weights(const RunWeights& weights, std::uint32_t* crc32) {
  const fs::path folder = weights.file.parent_path();
  if (weights.file.filename() == "model.safetensors" && fs::exists(folder / "state.json")) {
    try {
      return read_checkpoint_model(folder, crc32);
    } catch (const Damaged& error) {
      throw Error(fmt::format("{} is damaged: {}; {}", folder.string(), error.what(),
                              other_weights({folder.parent_path().parent_path()}, folder)));
    }
  }
  std::uint32_t checksum = 0;
  StoredTensors stored = read_safetensors(weights.file, &checksum);
  if (weights.checksum.value_or(checksum) != checksum) {
    throw Error(fmt::format("{} does not match its checksum in summary.json: it is damaged or was replaced; {}",
                            weights.file.string(), other_weights({folder})));
  }
  if (crc32 != nullptr) *crc32 = checksum;
  return stored;
}

void load_run_weights(const RunWeights& weights, Strategy& strategy) {
  // All of these write the variables once, so that it does not matter that only the chief knows which it is.
  if (weights.initial) return load_initial_weights(*weights.initial, strategy);
  const StoredTensors stored = strategy.topology().is_chief() ? read_run_weights(weights) : StoredTensors();
  load_weights(stored, weights.file.string(), strategy);
}

TrainedRun open_trained_run(const std::string& run, std::span<const std::string> overrides,
                            const Environment& environment) {
  NamedRun named = require_run(run, run);
  CheckedConfiguration checked = check_configuration(named.folder.config().string(), overrides, environment);
  checked.examples.set_trained();
  if (!checked.has_model()) throw UsageError(fmt::format("{}: the run has no model, only state", run));
  std::optional<data::Adapted> adapted = read_adapted(named.folder);
  return {std::move(named), std::move(checked), std::move(adapted)};
}

void load_trained_weights(const NamedRun& named, Strategy& strategy) {
  RunWeights weights;
  if (strategy.topology().is_chief()) {
    for (const std::string& note : strategy.topology().notes) spdlog::info(note);
    weights = weights_of(named);
    spdlog::info("weights: {}", weights.file.string());
  }
  load_run_weights(weights, strategy);
}

}  // namespace mirrortrain
