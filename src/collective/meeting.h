#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/barrier.h"
#include "collective/communicator.h"

namespace mirrortrain {

/// An operation as a rank enqueues it. On a cache line of its own, because its rank alone writes it.
struct alignas(64) CollectiveCall {
  enum class Operation : std::uint8_t { kAllReduce, kAllGather, kAllToAll };
  Operation operation = Operation::kAllReduce;
  Elements elements;
  std::byte* received = nullptr;  ///< of an all_to_all

  bool fits(const CollectiveCall& other) const;
  /// "all_reduce of 100 float32 elements (bucket 2 of 3: ...)"
  std::string text() const;
};

/// Where the threads of a group's ranks meet, announce which operation they are in, and learn why the group
/// failed. Allocates nothing unless something fails.
class Meeting {
 public:
  /// `spin` and `timeout_seconds`: see Barrier.
  Meeting(std::size_t ranks, bool spin, double timeout_seconds);

  /// Before a meeting: the operation that `rank` is in.
  void announce(int rank, const CollectiveCall& call) { calls_[static_cast<std::size_t>(rank)] = call; }
  void meet() { barrier_.arrive_and_wait(); }
  /// After it: the place of everybody's elements, by rank. Throws Error where another rank is in another operation.
  void learn(int rank, std::span<std::byte*> elements) const;

  /// Ends every rank's meetings, now and later; the first text is the reason why the group failed.
  void fail(const std::string& text);
  /// Throws Error with that.
  void throw_if_failed();

 private:
  std::vector<CollectiveCall> calls_;  ///< by rank
  Barrier barrier_;
  std::mutex failure_mutex_;
  std::string failure_;  ///< a barrier that times out fails on its own, and knows neither rank nor operation
};

}  // namespace mirrortrain
