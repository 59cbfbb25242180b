#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "config/section.h"

namespace mirrortrain {

/// The section `termination`: what a run does when its machine is about to be taken away, as TensorFlow's
/// TerminationConfig.
struct TerminationOptions {
  double grace_seconds = 0;               ///< of training after the notice
  std::optional<std::int64_t> exit_code;  ///< see code()
  std::optional<std::string> watch;       ///< a shell's command, whose exit code 0 is the notice
  double watch_every_seconds = 5;
  static config::Section<TerminationOptions> section();

  /// The exit code of a run that ends in this way, as of a process that SIGTERM ends unless another is given.
  int code() const { return static_cast<int>(exit_code.value_or(143)); }
};

}  // namespace mirrortrain
