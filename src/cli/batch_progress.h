#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "report/console.h"

namespace mirrortrain::cli {

/// A progress line for batches on stderr, if that is a terminal and progress is enabled. The destructor removes it.
class BatchProgress {
 public:
  /// `what`: the current work, "test". `shown`: whether this process may display it.
  explicit BatchProgress(std::string what, bool shown = true);

  /// `batch` is counted from 1.
  void show(std::int64_t batch, std::int64_t batches);

 private:
  std::string what_;
  std::unique_ptr<report::ProgressLine> line_;
};

}  // namespace mirrortrain::cli
