#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "collective/process_group.h"
#include "collective/shared_memory/shared_memory.h"

namespace mirrortrain {

/// A segment's buffers for each rank, in addition to its phase counter.
struct SegmentLayout {
  std::size_t buffers = 1, buffer_bytes = 0;
};

/// Memory shared by the processes of a group on one machine: for each rank a counter and buffers, initially zero.
class SharedSegment {
 public:
  /// Called by every rank: rank 0 creates the segment, the others open it, and its name is removed once all have it, so
  /// that nothing is left behind if a process dies. Null on every rank if any of them cannot open it, because ranks are
  /// on other machines or /dev/shm has too little space. `what`: a name that the group has not used before.
  static std::unique_ptr<SharedSegment> open(int rank, int size, const SegmentLayout& layout,
                                             const RendezvousStore& rendezvous, const std::string& what);

  /// An operation as a rank announces it to the others.
  struct Call {
    std::uint8_t operation, dtype, from;
    std::uint64_t count;
  };
  /// The number of barriers that the rank has reached, modulo 2^32; the number of ranks sleeping until it changes; and
  /// its operations, alternating: it begins the next one while others may still read the last.
  struct Phase {
    std::atomic<std::uint32_t> number, sleepers;
    Call calls[2];
  };
  Phase& phase(int rank) const;
  std::byte* buffer(int rank, std::size_t which = 0) const;
  std::size_t buffer_bytes() const { return layout_.buffer_bytes; }

 private:
  SharedSegment(std::unique_ptr<SharedMemory> memory, int size, const SegmentLayout& layout)
      : memory_(std::move(memory)), size_(static_cast<std::size_t>(size)), layout_(layout) {}

  const std::unique_ptr<SharedMemory> memory_;
  const std::size_t size_;
  const SegmentLayout layout_;
};

}  // namespace mirrortrain
