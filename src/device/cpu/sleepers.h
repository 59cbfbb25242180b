#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/futex.h"

namespace mirrortrain {

/// Threads that sleep until something has changed. Whoever changes it calls `wake` afterwards, which costs next to
/// nothing while nobody sleeps.
class Sleepers {
 public:
  /// Sleeps until woken, for at most `longest`, unless `done()`; may return earlier. What `done` reads must be written
  /// before `wake`, sequentially consistently, as either it sees the change or `wake` sees the sleeper.
  template <class Done>
  void sleep(const Done& done, std::chrono::nanoseconds longest) {
    const std::uint32_t seen = changes_.load();
    count_.fetch_add(1);
    if (!done()) futex_wait(changes_, seen, longest, FutexScope::kProcess);
    count_.fetch_sub(1);
  }

  void wake() {
    if (count_.load() == 0) return;
    changes_.fetch_add(1);
    futex_wake_all(changes_, FutexScope::kProcess);
  }

 private:
  std::atomic<std::uint32_t> changes_ = 0, count_ = 0;
};

}  // namespace mirrortrain
