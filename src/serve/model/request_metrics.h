#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "serve/model/batcher.h"

namespace mirrortrain {

/// What a server counts since it began. Thread-safe.
class RequestMetrics {
 public:
  /// A request for predictions that was answered.
  void add_answered(std::int64_t examples, std::chrono::nanoseconds time);
  /// A request that was refused with a status of HTTP, or failed with 500.
  void add_refused(int status);
  /// Weights that were read anew, or could not be.
  void add_reload(bool succeeded) { ++(succeeded ? reloads_ : failed_reloads_); }

  /// In the text format of Prometheus. `step`: of the weights.
  std::string text(const std::string& model, std::int64_t step, const BatcherCounts& batches) const;

 private:
  static constexpr std::array<double, 13> kSeconds = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                                      0.1,    0.25,  0.5,    1,     2.5,  10};
  static constexpr int kServersFault = 500;
  std::atomic<std::int64_t> requests_ = 0, failed_ = 0, examples_ = 0, nanoseconds_ = 0, reloads_ = 0,
                            failed_reloads_ = 0;
  std::array<std::atomic<std::int64_t>, kSeconds.size()> within_{};  ///< requests that took at most so long
  mutable std::mutex mutex_;
  std::map<int, std::int64_t> refused_;
};

}  // namespace mirrortrain
