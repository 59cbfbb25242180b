#include "data/spilled_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/files.h"

namespace mirrortrain::data {
namespace {

constexpr std::size_t kWorthIt = std::size_t{1} << 20;

thread_local const SpilledMemory* current = nullptr;

/// An open file without a name; -1 and errno.
int unnamed_file(const std::string& folder) {
  std::string name = (std::filesystem::path(folder) / "mirrortrain-memory.XXXXXX").string();
  const int descriptor = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor >= 0) ::unlink(name.c_str());
  return descriptor;
}

}  // namespace

SpilledMemory::SpilledMemory(std::string folder) : folder_(std::move(folder)), before_(std::exchange(current, this)) {}

SpilledMemory::~SpilledMemory() { current = before_; }

std::shared_ptr<std::byte> SpilledMemory::allocate(std::size_t size, const std::string& what) {
  if (current == nullptr || size < kWorthIt) return nullptr;
  const std::string& folder = current->folder_;
  const auto fail = [&](int reason) {
    throw Error(
        fmt::format("{}: it is larger than data.memory, and its {} bytes cannot be kept in {} ({}); give "
                    "data.cache_directory a folder on a disk with more space, or run `mirrortrain cache clean`",
                    what, size, folder, std::strerror(reason)));
  };
  try {
    create_folders(folder);
  } catch (const SystemError& error) {
    fail(error.code());
  }
  const int descriptor = unnamed_file(folder);
  if (descriptor < 0) fail(errno);
  // Without its space writing to the memory could end the program.
  const int refused = ::posix_fallocate(descriptor, 0, static_cast<off_t>(size));
  void* const memory =
      refused == 0 ? ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0) : MAP_FAILED;
  const int reason = refused != 0 ? refused : errno;
  ::close(descriptor);
  if (memory == MAP_FAILED) fail(reason);
  return {static_cast<std::byte*>(memory), [size](std::byte* begin) { ::munmap(begin, size); }};
}

}  // namespace mirrortrain::data
