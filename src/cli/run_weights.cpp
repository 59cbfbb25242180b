#include "cli/run_weights.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/error.h"
#include "train/checkpoint.h"
#include "train/summary.h"

namespace mirrortrain::cli {

RunWeights weights_of_checkpoint(const std::filesystem::path& checkpoint) {
  return {checkpoint / "model.safetensors", step_of_checkpoint(checkpoint)};
}

RunWeights weights_of_run(const RunFolder& folder) {
  const auto newest = newest_checkpoint(folder.checkpoints());
  const std::int64_t done = read_done_step(folder.summary()).value_or(0);
  const bool is_exported = std::filesystem::exists(folder.model());
  if (is_exported && (!newest || step_of_checkpoint(*newest) <= done)) return {folder.model(), done};
  if (!newest) throw Error(fmt::format("{}: the run has saved no weights yet", folder.path.string()));
  spdlog::warn(
      "{}: {}; using {}", folder.path.string(),
      is_exported ? "the run continued after model.safetensors was written" : "the run has no model.safetensors yet",
      newest->filename().string());
  return weights_of_checkpoint(*newest);
}

}  // namespace mirrortrain::cli
