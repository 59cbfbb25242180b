#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace mirrortrain {

/// Memory that processes of this machine and user share under a name.
class SharedMemory {
 public:
  /// New memory, zeroed, under a name that nobody guesses. Null where there is too little space in /dev/shm.
  static std::unique_ptr<SharedMemory> make(std::size_t bytes);
  /// What another process has made. Null where there is none of this name and size here, and for a name that no `make`
  /// gives.
  static std::unique_ptr<SharedMemory> open(const std::string& name, std::size_t bytes);

  /// Takes the name away, if this has made it.
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  const std::string& name() const { return name_; }
  std::span<std::byte> bytes() const { return bytes_; }

  /// Of memory that another process has made: whether that process is gone, or has given it up.
  bool is_abandoned() const;

  /// Nobody opens it from here on; it lasts as long as somebody has it. So nothing stays behind, whoever dies.
  void remove_name();

 private:
  SharedMemory(std::string name, std::span<std::byte> bytes, int file, bool has_made)
      : name_(std::move(name)), bytes_(bytes), file_(file), owns_name_(has_made) {}

  const std::string name_;
  const std::span<std::byte> bytes_;
  const int file_;  ///< locked by the maker while it lives, wherever its process is visible
  bool owns_name_;
};

}  // namespace mirrortrain
