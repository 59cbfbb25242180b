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

/// From a run's metrics.jsonl; nullopt if no epoch has the metric, or none a finite one. Throws SystemError where the
/// file cannot be read.
std::optional<BestEpoch> best_epoch(const std::filesystem::path& metrics, const WatchedMetric& objective);

}  // namespace mirrortrain::tune
