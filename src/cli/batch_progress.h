#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "report/console.h"

namespace mirrortrain::cli {

/// A progress line of batches on stderr, where that is a terminal and progress is wanted; else nothing. It is removed
/// with this object.
class BatchProgress {
 public:
  /// `what` is being done: "test". `shown`: whether this process may show it.
  explicit BatchProgress(std::string what, bool shown = true);

  /// `batch` counts from 1.
  void show(std::int64_t batch, std::int64_t batches);

 private:
  std::string what_;
  std::unique_ptr<report::ProgressLine> line_;
};

}  // namespace mirrortrain::cli
