#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "collective/process_group.h"
#include "collective/shared_memory/shared_memory.h"

namespace mirrortrain {

/// Memory that the processes of a group on one machine share: for each rank a counter of the phases that it has
/// reached, and buffers.
class SharedSegment {
 public:
  /// Called by every rank at once: rank 0 makes the segment, the others open it, and its name is gone when all have it,
  /// so that nothing stays behind whoever dies. Null on every rank where one of them cannot open it: ranks on other
  /// machines, or too little space in /dev/shm. `buffer_bytes`: of each buffer.
  static std::unique_ptr<SharedSegment> open(int rank, int size, std::size_t buffer_bytes, const MeetingPoint& meeting);

  /// How often the rank has met the others; begins anew after 2^32. And how many ranks sleep until it changes.
  struct Phase {
    std::atomic<std::uint32_t> number, sleepers;
  };
  Phase& phase(int rank) const;
  /// Each rank has two buffers, so that it can fill one while others still read the other.
  std::byte* buffer(int rank, int which) const;
  std::size_t buffer_bytes() const { return buffer_bytes_; }

 private:
  SharedSegment(std::unique_ptr<SharedMemory> memory, int size, std::size_t buffer_bytes)
      : memory_(std::move(memory)), size_(static_cast<std::size_t>(size)), buffer_bytes_(buffer_bytes) {}
  static std::size_t bytes(std::size_t size, std::size_t buffer_bytes);

  const std::unique_ptr<SharedMemory> memory_;
  const std::size_t size_, buffer_bytes_;
};

}  // namespace mirrortrain
