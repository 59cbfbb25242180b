#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/round_up.h"
#include "device/cpu/cpu_device.h"

namespace mirrortrain {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// Zeroed pages mapped from the system, allocated on first touch: in memory near the touching thread, and never if a
/// run stops before. What is behind the last whole huge page is in small ones, so that no more is taken than asked for.
/// Null if there are not enough.
Buffer map_huge_pages(std::size_t bytes) {
  const std::size_t length = round_up(bytes, static_cast<std::size_t>(sysconf(_SC_PAGESIZE))),
                    mapped = length + kHugePage;
  void* const memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return {};
  auto* const first = static_cast<std::byte*>(memory);
  const std::size_t before =
      round_up(reinterpret_cast<std::uintptr_t>(first), kHugePage) - reinterpret_cast<std::uintptr_t>(first);
  std::byte* const data = first + before;
  if (before > 0) munmap(first, before);
  munmap(data + length, mapped - before - length);
  madvise(data, length, MADV_HUGEPAGE);  // fewer TLB misses; failure is harmless
  return {data, bytes, [length](std::byte* pages) { munmap(pages, length); }};
}

/// The number after `name` in a file of names and numbers, or the first in the file if `name` is empty.
std::optional<std::size_t> number_in(const char* file, const std::string& name) {
  std::ifstream in(file);
  std::size_t number = 0;
  for (std::string word; !name.empty() && in >> word && word != name;) {
  }
  if (in >> number) return number;
  return std::nullopt;
}

/// The memory left to this process's container, if any: page cache counts as free.
std::size_t left_to_container() {
  const auto limit = number_in("/sys/fs/cgroup/memory.max", ""), used = number_in("/sys/fs/cgroup/memory.current", ""),
             cached = number_in("/sys/fs/cgroup/memory.stat", "inactive_file");
  if (!limit || !used) return std::numeric_limits<std::size_t>::max();
  const std::size_t kept = *used - std::min(*used, cached.value_or(0));
  return *limit - std::min(*limit, kept);
}

}  // namespace

Buffer allocate_host_memory(std::size_t bytes) {
  if (bytes == 0) return {};
  Buffer buffer;
  if (bytes <= std::numeric_limits<std::size_t>::max() / 2) {
    if (bytes >= kHugePage) {
      buffer = map_huge_pages(bytes);
    } else if (auto* data = static_cast<std::byte*>(std::aligned_alloc(kCacheLine, round_up(bytes, kCacheLine)))) {
      std::memset(data, 0, bytes);
      buffer = {data, bytes, [](std::byte* memory) { std::free(memory); }};
    }
  }
  if (buffer.data() == nullptr)
    throw Error(fmt::format("no memory for {} bytes on the CPU; use a smaller batch or model", bytes));
  return buffer;
}

DeviceMemory host_memory() {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto kilobytes = number_in("/proc/meminfo", "MemAvailable:");
  const std::size_t free = kilobytes ? *kilobytes * 1024 : static_cast<std::size_t>(sysconf(_SC_AVPHYS_PAGES)) * page;
  return {std::min(free, left_to_container()), static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * page};
}

}  // namespace mirrortrain
