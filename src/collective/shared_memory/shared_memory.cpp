#include "collective/shared_memory/shared_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

namespace mirrortrain {
namespace {

constexpr std::string_view kPrefix = "/mirrortrain-";
constexpr std::size_t kRandomBytes = 16;

/// A unique and unguessable name; empty if there is no source of randomness.
std::string random_name() {
  std::array<unsigned char, kRandomBytes> bytes{};
  std::FILE* const random = std::fopen("/dev/urandom", "rb");
  const bool works = random != nullptr && std::fread(bytes.data(), bytes.size(), 1, random) == 1;
  if (random != nullptr) std::fclose(random);
  if (!works) return "";
  std::string name(kPrefix);
  for (const unsigned char byte : bytes) name += fmt::format("{:02x}", byte);
  return name;
}

/// Only names that this program creates are accepted, not other programs' objects.
bool is_a_name(std::string_view name) {
  if (!name.starts_with(kPrefix) || name.size() != kPrefix.size() + 2 * kRandomBytes) return false;
  return std::ranges::all_of(name.substr(kPrefix.size()),
                             [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

struct Mapping {
  std::span<std::byte> bytes;
  int file = -1;
};

/// Empty on failure. A new object is filled with zeros and locked by its creator.
Mapping map(const std::string& name, std::size_t bytes, bool makes) {
  if (!is_a_name(name) || bytes == 0) return {};
  const int file = ::shm_open(name.c_str(), O_RDWR | O_CLOEXEC | (makes ? O_CREAT | O_EXCL : 0), 0600);
  if (file < 0) return {};
  // Touching memory that /dev/shm does not have would kill the process.
  const bool has_room = makes ? ::posix_fallocate(file, 0, static_cast<off_t>(bytes)) == 0 : true;
  struct stat found {};
  const bool is_whole = has_room && ::fstat(file, &found) == 0 && static_cast<std::size_t>(found.st_size) == bytes &&
                        found.st_uid == ::geteuid();
  void* const data = is_whole ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  const bool is_held = data != MAP_FAILED && (!makes || ::flock(file, LOCK_EX | LOCK_NB) == 0);
  if (is_held) return {{static_cast<std::byte*>(data), bytes}, file};
  if (data != MAP_FAILED) ::munmap(data, bytes);
  ::close(file);
  if (makes) ::shm_unlink(name.c_str());
  return {};
}

}  // namespace

std::unique_ptr<SharedMemory> SharedMemory::make(std::size_t bytes) {
  std::string name = random_name();
  const Mapping memory = map(name, bytes, true);
  if (memory.bytes.empty()) return nullptr;
  return std::unique_ptr<SharedMemory>(new SharedMemory(std::move(name), memory.bytes, memory.file, true));
}

std::unique_ptr<SharedMemory> SharedMemory::open(const std::string& name, std::size_t bytes) {
  const Mapping memory = map(name, bytes, false);
  if (memory.bytes.empty()) return nullptr;
  return std::unique_ptr<SharedMemory>(new SharedMemory(name, memory.bytes, memory.file, false));
}

SharedMemory::~SharedMemory() {
  remove_name();
  ::munmap(bytes_.data(), bytes_.size());
  ::close(file_);
}

bool SharedMemory::is_abandoned() const {
  // A shared lock, so that several processes checking at once do not mistake each other for the creator.
  if (::flock(file_, LOCK_SH | LOCK_NB) != 0) return false;
  ::flock(file_, LOCK_UN);
  return true;
}

void SharedMemory::remove_name() {
  if (owns_name_) ::shm_unlink(name_.c_str());
  owns_name_ = false;
}

}  // namespace mirrortrain
