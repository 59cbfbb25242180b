#include "collective/shared_memory/segment.h"

#include <fmt/format.h>

#include <string>

namespace mirrortrain {
namespace {

constexpr std::size_t kLine = 64;

std::size_t rounded(std::size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

}  // namespace

std::size_t SharedSegment::bytes(std::size_t size, std::size_t buffer_bytes) {
  return size * (kLine + 2 * rounded(buffer_bytes));
}

std::unique_ptr<SharedSegment> SharedSegment::open(int rank, int size, std::size_t buffer_bytes,
                                                   const MeetingPoint& meeting) {
  const std::size_t all = bytes(static_cast<std::size_t>(size), buffer_bytes);
  // The name is there for a moment only: once everybody is here, until everybody has opened it.
  meeting.put(fmt::format("ready for shared memory: {}", rank), "");
  for (int other = 0; other < size; ++other) meeting.get(fmt::format("ready for shared memory: {}", other));
  std::unique_ptr<SharedMemory> memory;
  if (rank == 0) {
    memory = SharedMemory::make(all);
    meeting.put("shared memory", memory ? memory->name() : "");
  } else {
    memory = SharedMemory::open(meeting.get("shared memory"), all);
  }
  meeting.put(fmt::format("shared memory of {}", rank), memory ? "open" : "closed");
  bool all_have_it = true;
  for (int other = 0; other < size; ++other) {
    all_have_it &= meeting.get(fmt::format("shared memory of {}", other)) == "open";
  }
  if (!all_have_it) return nullptr;
  memory->remove_name();
  return std::unique_ptr<SharedSegment>(new SharedSegment(std::move(memory), size, buffer_bytes));
}

SharedSegment::Phase& SharedSegment::phase(int rank) const {
  static_assert(std::atomic<std::uint32_t>::is_always_lock_free);  // so that it works between processes
  return *reinterpret_cast<Phase*>(memory_->bytes().data() + static_cast<std::size_t>(rank) * kLine);
}

std::byte* SharedSegment::buffer(int rank, int which) const {
  const std::size_t number = static_cast<std::size_t>(rank) * 2 + static_cast<std::size_t>(which);
  return memory_->bytes().data() + size_ * kLine + number * rounded(buffer_bytes_);
}

}  // namespace mirrortrain
