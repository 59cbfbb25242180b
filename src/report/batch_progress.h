#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "report/console.h"

namespace mirrortrain::report {

/// A progress line for batches on stderr, if that is a terminal. The destructor removes it.
class BatchProgress {
 public:
  /// `what`: the current work, "test". `shown`: whether it may be displayed.
  BatchProgress(std::string what, bool shown);

  /// `batch` is counted from 1.
  void show(std::int64_t batch, std::int64_t batches);
  /// Removes the line until it is shown again, so that others can print.
  void clear();

 private:
  std::string what_;
  std::unique_ptr<ProgressLine> line_;
};

}  // namespace mirrortrain::report
