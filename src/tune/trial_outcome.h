#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "train/session/callback_options.h"

namespace mirrortrain::tune {

/// The best epoch of a run by a metric.
struct BestEpoch {
  double value = 0;
  std::int64_t epoch = 0;  ///< the first of equal ones
};

/// What stopped a run, by its summary.json: "SIGTERM", "training.time_limit"; empty if it is done, or has not ended.
std::string stopped_by(const std::filesystem::path& summary);

/// From a run's metrics.jsonl; nullopt if no epoch has the metric, or none a finite one. Throws SystemError where the
/// file cannot be read.
std::optional<BestEpoch> best_epoch(const std::filesystem::path& metrics, const WatchedMetric& objective);

}  // namespace mirrortrain::tune
