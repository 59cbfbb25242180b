#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>

namespace mirrortrain {

/// Tracks which steps a server has applied, so that each is applied once, even if the step of a worker that seemed lost
/// was given to another. Thread-safe.
class AppliedSteps {
 public:
  /// Returns true if the caller must apply the step and then call `end`; false if it is applied already, after waiting
  /// for another caller that is applying it. `oldest_open`: all steps before it are applied.
  bool begin(std::int64_t step, std::int64_t oldest_open) {
    std::unique_lock lock(mutex_);
    if (oldest_open > oldest_open_) {
      oldest_open_ = oldest_open;
      done_.erase(done_.begin(), done_.lower_bound(oldest_open));
    }
    if (step < oldest_open_) return false;
    if (const auto [entry, is_new] = done_.try_emplace(step, false); is_new) return true;
    changed_.wait(lock, [&] {
      const auto entry = done_.find(step);
      return entry == done_.end() || entry->second;
    });
    return false;
  }

  void end(std::int64_t step) {
    const std::scoped_lock lock(mutex_);
    if (const auto entry = done_.find(step); entry != done_.end()) entry->second = true;
    changed_.notify_all();
  }

  /// The variables were written: step numbers restart. No step is being applied.
  void clear() {
    const std::scoped_lock lock(mutex_);
    done_.clear();
    oldest_open_ = 0;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::int64_t, bool> done_;  ///< from the oldest open one; false while it is being applied
  std::int64_t oldest_open_ = 0;
};

}  // namespace mirrortrain
