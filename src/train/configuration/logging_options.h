#pragma once

#include <cstdint>
#include <optional>

#include "config/section.h"

namespace mirrortrain {

/// The section `logging`.
struct LoggingOptions {
  std::int64_t every_steps = 100;
  bool tensorboard = true;
  bool report = true;
  bool csv = false;
  std::optional<std::int64_t> histograms, gradient_histograms;  ///< epochs from one to the next
  bool gradient_norms = false;
  std::int64_t images = 0;  ///< of the inputs, and of the mistakes
  static config::Section<LoggingOptions> section();

  /// Whether gradients are read after a step, and so have to be kept until then.
  bool reads_gradients() const { return gradient_norms || gradient_histograms; }
};

}  // namespace mirrortrain
