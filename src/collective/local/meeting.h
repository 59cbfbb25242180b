#pragma once

#include <cstddef>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/barrier.h"
#include "collective/local/call.h"

namespace mirrortrain::local {

/// Where the threads of a group's ranks meet, tell each other what they came to do, and learn what the group failed of.
/// Allocates nothing unless something fails.
class Meeting {
 public:
  /// `spin` and `timeout_seconds`: see Barrier.
  Meeting(std::size_t ranks, bool spin, double timeout_seconds);

  /// Before a meeting, what `rank` came to do.
  void tell(int rank, const Call& call) { calls_[static_cast<std::size_t>(rank)] = call; }
  void meet() { barrier_.arrive_and_wait(); }
  /// After it, where everybody's elements are, by rank. Throws Error where another rank came to do something else.
  void learn(int rank, std::span<std::byte*> elements) const;

  /// Ends every rank's meetings, now and later; the first text is what the group failed of.
  void fail(const std::string& text);
  /// Throws Error with that.
  void throw_if_failed();

 private:
  std::vector<Call> calls_;  ///< by rank
  Barrier barrier_;
  std::mutex failure_mutex_;
  std::string failure_;  ///< a barrier that waits in vain fails on its own, and knows neither rank nor operation
};

}  // namespace mirrortrain::local
