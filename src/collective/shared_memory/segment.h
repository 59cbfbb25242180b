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

/// What a segment has for each rank, beside a counter of the phases that it has reached.
struct SegmentLayout {
  std::size_t buffers = 1, buffer_bytes = 0;
};

/// Memory that the processes of a group on one machine share: for each rank a counter and buffers, all zero at first.
class SharedSegment {
 public:
  /// Called by every rank at once: rank 0 makes the segment, the others open it, and its name is gone when all have it,
  /// so that nothing stays behind whoever dies. Null on every rank where one of them cannot open it: ranks on other
  /// machines, or too little space in /dev/shm. `what`: a name that the group has not met with before.
  static std::unique_ptr<SharedSegment> open(int rank, int size, const SegmentLayout& layout,
                                             const RendezvousStore& meeting, const std::string& what);

  /// An operation as a rank announces it to the others.
  struct Call {
    std::uint8_t operation, dtype;
    std::uint64_t count;
  };
  /// How often the rank has met the others; begins anew after 2^32. How many ranks sleep until it changes. And its
  /// operations, in turns: it begins the next one while others may still read of the last.
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
