#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace mirrortrain {

/// Named memory shared by processes of this machine and user.
class SharedMemory {
 public:
  /// New memory, zeroed, under an unguessable name. Null if /dev/shm has too little space.
  static std::unique_ptr<SharedMemory> make(std::size_t bytes);
  /// Opens memory that another process made. Null if there is none of this name and size, or if the name is not one
  /// that `make` creates.
  static std::unique_ptr<SharedMemory> open(const std::string& name, std::size_t bytes);

  /// Removes the name, if this object made it.
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  const std::string& name() const { return name_; }
  std::span<std::byte> bytes() const { return bytes_; }

  /// For memory that another process made: whether that process has ended or released it.
  bool is_abandoned() const;

  /// Afterwards it cannot be opened any more; it exists while any process has it mapped. So nothing is left behind if a
  /// process dies.
  void remove_name();

 private:
  SharedMemory(std::string name, std::span<std::byte> bytes, int file, bool has_made)
      : name_(std::move(name)), bytes_(bytes), file_(file), owns_name_(has_made) {}

  const std::string name_;
  const std::span<std::byte> bytes_;
  const int file_;  ///< locked by its creator while that lives, across PID namespaces too
  bool owns_name_;
};

}  // namespace mirrortrain
