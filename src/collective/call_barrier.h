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

/// An operation as a rank enqueues it. On its own cache line, because only its rank writes it.
struct alignas(64) CollectiveCall {
  enum class Operation : std::uint8_t { kAllReduce, kAllGather, kAllToAll, kTransfer };
  Operation operation = Operation::kAllReduce;
  Elements elements;
  std::byte* received = nullptr;  ///< of an all_to_all
  int from = 0;                   ///< of a transfer

  bool fits(const CollectiveCall& other) const;
  /// "all_reduce of 100 float32 elements (bucket 2 of 3: ...)"
  std::string text() const;
};

/// A barrier for the threads of a group's ranks, at which they announce their operations and learn why the group
/// failed. Allocates nothing unless something fails.
class CallBarrier {
 public:
  /// `spin` and `timeout_seconds`: see Barrier.
  CallBarrier(std::size_t ranks, bool spin, double timeout_seconds);

  /// Before the barrier: sets the operation that `rank` is in.
  void announce(int rank, const CollectiveCall& call) { calls_[static_cast<std::size_t>(rank)] = call; }
  void arrive_and_wait() { barrier_.arrive_and_wait(); }
  /// After the barrier: the pointers to all ranks' elements, by rank. Throws Error if another rank is in another
  /// operation.
  void read_elements(int rank, std::span<std::byte*> elements) const;

  /// Aborts every rank's current and later barriers; the first text is the reason why the group failed.
  void fail(const std::string& text);
  /// Throws Error with that reason.
  void throw_if_failed();

 private:
  std::vector<CollectiveCall> calls_;  ///< by rank
  Barrier barrier_;
  std::mutex failure_mutex_;
  std::string failure_;  ///< takes precedence over a barrier's timeout, which names neither rank nor operation
};

}  // namespace mirrortrain
