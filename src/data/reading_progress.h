#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "report/batch_progress.h"

namespace mirrortrain::data {

/// A line on the terminal for reading or unpacking that takes more than a second. For one thread.
class ReadingProgress {
 public:
  /// `what`: "unpacking x.npz: x". `bytes`: of all; 0 if that is not known, so that nothing is shown.
  ReadingProgress(std::string what, std::uint64_t bytes) : what_(std::move(what)), bytes_(bytes) {}
  /// So many bytes are done.
  void show(std::uint64_t done);

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_;
  std::uint64_t bytes_;
  Clock::time_point next_ = Clock::now() + std::chrono::seconds(1);
  std::optional<report::BatchProgress> line_;
};

}  // namespace mirrortrain::data
