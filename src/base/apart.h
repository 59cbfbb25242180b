#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace mirrortrain {

/// A file in memory, without a name.
class MemoryFile {
 public:
  explicit MemoryFile(const char* label);
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile();

  int descriptor() const { return descriptor_; }
  /// Appends; throws SystemError if there is no memory for it.
  void write(const void* bytes, std::size_t size);
  /// Fills `bytes` from an offset on; returns whether there was as much.
  bool read_at(std::uint64_t offset, void* bytes, std::size_t size) const;
  std::uint64_t size() const;

 private:
  int descriptor_;
};

/// Runs `work`, which hands its results over in memory files, in a process of its own: a library that a damaged file
/// makes crash, hang or ask for all memory ends that process alone. `bytes`: of what it reads, by which its time and
/// memory are bounded. Returns "" if it ended by itself, else how it ended. Throws SystemError if no process could be
/// started.
std::string run_apart(std::uint64_t bytes, const std::function<void()>& work);

}  // namespace mirrortrain
