#include "strategy/steps/working_lanes.h"

#include <algorithm>

namespace mirrortrain {
namespace {

/// Waits of at least this length are for a lane that was not running; running lanes wait for each other for less.
constexpr double kNotRunning = 1e-3;
/// Lanes are contended if such waits reach this share of the time.
constexpr double kContended = 0.15;
/// A lane keeps resting if a step takes at most this share of the previous time.
constexpr double kFaster = 0.95;

// Enough scheduler time slices to compare steps, and how long the better choice is kept; in seconds.
constexpr double kWindow = 0.1, kFirstLongWindow = 0.4, kLongestWindow = 3.2;
constexpr int kFewestSteps = 5;

}  // namespace

void WorkingLanes::waited(double seconds) {
  if (seconds >= kNotRunning) waited_.fetch_add(static_cast<std::int64_t>(seconds * 1e6), std::memory_order_relaxed);
}

void WorkingLanes::step_took(double seconds) {
  seconds_ += seconds;
  ++steps_;
  if (seconds_ < window_ || steps_ < kFewestSteps) return;
  const double waited = static_cast<double>(waited_.exchange(0, std::memory_order_relaxed)) * 1e-6;
  end_window(seconds_ / steps_, waited > kContended * seconds_);
  seconds_ = 0;
  steps_ = 0;
}

void WorkingLanes::end_window(double step_seconds, bool contended) {
  const int working = count();
  const bool was_long = window_ > kWindow;
  window_ = kWindow;
  if (on_trial_) {
    on_trial_ = false;
    if (step_seconds > kFaster * step_before_) {
      working_ = working + 1;
      return keep_for_long();
    }
    if (!contended || working == 1) return keep_for_long();
  }
  if (contended && working > 1) {
    step_before_ = step_seconds;
    on_trial_ = true;
    working_ = working - 1;
  } else if (!was_long && working == lanes_) {
    long_window_ = 0;  // there is no contention
  } else {
    working_ = lanes_;
  }
}

void WorkingLanes::keep_for_long() {
  long_window_ = std::clamp(2 * long_window_, kFirstLongWindow, kLongestWindow);
  window_ = long_window_;
}

}  // namespace mirrortrain
