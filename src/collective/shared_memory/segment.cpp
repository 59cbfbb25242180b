#include "collective/shared_memory/segment.h"

#include <fmt/format.h>

#include <string>

namespace mirrortrain {
namespace {

constexpr std::size_t kLine = 64;

std::size_t rounded(std::size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

}  // namespace

std::unique_ptr<SharedSegment> SharedSegment::open(int rank, int size, const SegmentLayout& layout,
                                                   const RendezvousStore& meeting, const std::string& what) {
  const std::size_t all = static_cast<std::size_t>(size) * (kLine + layout.buffers * rounded(layout.buffer_bytes));
  // The name exists only briefly: from when all ranks are here until all have opened it.
  meeting.put(fmt::format("ready for {}: {}", what, rank), "");
  for (int other = 0; other < size; ++other) meeting.get(fmt::format("ready for {}: {}", what, other));
  std::unique_ptr<SharedMemory> memory;
  if (rank == 0) {
    memory = SharedMemory::make(all);
    meeting.put(what, memory ? memory->name() : "");
  } else {
    memory = SharedMemory::open(meeting.get(what), all);
  }
  meeting.put(fmt::format("{} of {}", what, rank), memory ? "open" : "closed");
  bool all_have_it = true;
  for (int other = 0; other < size; ++other) {
    all_have_it &= meeting.get(fmt::format("{} of {}", what, other)) == "open";
  }
  if (!all_have_it) return nullptr;
  memory->remove_name();
  return std::unique_ptr<SharedSegment>(new SharedSegment(std::move(memory), size, layout));
}

SharedSegment::Phase& SharedSegment::phase(int rank) const {
  static_assert(std::atomic<std::uint32_t>::is_always_lock_free);  // required between processes
  static_assert(sizeof(Phase) <= kLine);
  return *reinterpret_cast<Phase*>(memory_->bytes().data() + static_cast<std::size_t>(rank) * kLine);
}

std::byte* SharedSegment::buffer(int rank, std::size_t which) const {
  const std::size_t number = static_cast<std::size_t>(rank) * layout_.buffers + which;
  return memory_->bytes().data() + size_ * kLine + number * rounded(layout_.buffer_bytes);
}

}  // namespace mirrortrain
