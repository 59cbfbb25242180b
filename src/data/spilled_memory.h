#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace mirrortrain::data {

/// While this lives, what its thread allocates as Bytes of a megabyte and more lies in files without names in a folder,
/// which are mapped: what is not in use is on disk, and does not count as memory that the process holds. For readers
/// that need all of their data at once, such as those of tables. The files' space is taken at once, so that a full disk
/// is an error of allocating, and they end with the last that uses them.
class SpilledMemory {
 public:
  /// Which is made when it is needed.
  explicit SpilledMemory(std::string folder);
  SpilledMemory(const SpilledMemory&) = delete;
  SpilledMemory& operator=(const SpilledMemory&) = delete;
  ~SpilledMemory();

  /// Mapped memory, if this thread has such a folder and it is worth it; else null. Throws Error, naming `what`, if the
  /// folder cannot be written or has too little space.
  static std::shared_ptr<std::byte> allocate(std::size_t size, const std::string& what);

 private:
  std::string folder_;
  const SpilledMemory* before_;
};

}  // namespace mirrortrain::data
