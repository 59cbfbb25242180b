#pragma once

#include <atomic>
#include <string>
#include <thread>

#include "train/configuration/termination_options.h"

namespace mirrortrain {

/// Runs termination.watch again and again on a thread of its own, until it says that the machine is about to be taken
/// away.
class PreemptionWatch {
 public:
  /// Runs the command a first time and waits for it. Throws UsageError if it cannot be run, Error if it does not end.
  /// `options`: with a `watch`; must outlive it.
  explicit PreemptionWatch(const TerminationOptions& options);
  PreemptionWatch(const PreemptionWatch&) = delete;
  PreemptionWatch& operator=(const PreemptionWatch&) = delete;

  /// Whether the command has ended with exit code 0.
  bool has_noticed() const { return noticed_; }

 private:
  void watch(const std::stop_token& ends);

  const TerminationOptions& options_;
  std::atomic<bool> noticed_ = false;
  std::jthread thread_;  ///< last: it uses the others
};

}  // namespace mirrortrain
