#include "collective/shared_memory/segment.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "base/round_up.h"

namespace mirrortrain {
namespace {

constexpr std::size_t kLine = 64;

}  // namespace

std::unique_ptr<SharedSegment> SharedSegment::open(int rank, int size, const SegmentLayout& layout,
                                                   const RendezvousStore& rendezvous, const std::string& what) {
  const std::size_t all =
      static_cast<std::size_t>(size) * (kLine + layout.buffers * round_up(layout.buffer_bytes, kLine));
  // The name exists only briefly: from when all ranks are here until all have opened it.
  const auto gather = [&](const std::string& key, const std::string& value) {
    return rendezvous.gather(key, rank, size, std::span(&value, 1));
  };
  gather(fmt::format("ready for {}", what), "");
  std::unique_ptr<SharedMemory> memory;
  if (rank == 0) {
    memory = SharedMemory::make(all);
    rendezvous.put(what, memory ? memory->name() : "");
  } else {
    memory = SharedMemory::open(rendezvous.get(what), all);
  }
  const std::vector<std::string> states = gather(fmt::format("who opened {}", what), memory ? "open" : "closed");
  if (!std::ranges::all_of(states, [](const std::string& state) { return state == "open"; })) return nullptr;
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
  return memory_->bytes().data() + size_ * kLine + number * round_up(layout_.buffer_bytes, kLine);
}

}  // namespace mirrortrain
