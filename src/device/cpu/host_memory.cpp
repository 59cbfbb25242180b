#include "device/cpu/host_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "base/error.h"

namespace mirrortrain {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

Buffer allocate_host_memory(std::size_t bytes) {
  if (bytes == 0) return {};
  const std::size_t alignment = bytes >= kHugePage ? kHugePage : kCacheLine;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  auto* data = rounded < bytes ? nullptr : static_cast<std::byte*>(std::aligned_alloc(alignment, rounded));
  if (data == nullptr)
    throw Error(fmt::format("no memory for {} bytes on the CPU; use a smaller batch or model", bytes));
  if (alignment == kHugePage) madvise(data, rounded, MADV_HUGEPAGE);  // fewer TLB misses; a refusal does no harm
  std::memset(data, 0, rounded);
  return {data, bytes, [](std::byte* memory) { std::free(memory); }};
}

DeviceMemory host_memory() {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return {static_cast<std::size_t>(sysconf(_SC_AVPHYS_PAGES)) * page,
          static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * page};
}

}  // namespace mirrortrain
