#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "train/checkpoint/run_folder.h"
#include "train/configuration/callback_options.h"

namespace mirrortrain::tune {

/// The best epoch of a run by a metric.
struct BestEpoch {
  double value = 0;
  std::int64_t epoch = 0;  ///< the first of equal ones
};

/// What stopped a run, by its summary.json: "SIGTERM", "training.time_limit"; empty if it is done, or has not ended.
std::string stopped_by(const std::filesystem::path& summary);

/// The metric after each epoch of a run, from its metrics.jsonl, up to epoch `most` (0: all); NaN where an epoch does
/// not have it; none where there is no such file, as for a run that failed before its first step. Throws SystemError
/// where the file cannot be read.
std::vector<double> epoch_values(const std::filesystem::path& metrics, const WatchedMetric& objective,
                                 std::int64_t most = 0);

/// Of these values; nullopt if none is finite. Throws as epoch_values.
std::optional<BestEpoch> best_epoch(const std::filesystem::path& metrics, const WatchedMetric& objective,
                                    std::int64_t most = 0);

/// The epoch in which a run would resume from its newest checkpoint, or the last one that it has ended: it cannot be
/// taken back to an earlier one. 0 without a checkpoint.
std::int64_t begun_epochs(const RunFolder& run);

}  // namespace mirrortrain::tune
