#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace mirrortrain::fuzz {

/// A file in memory with the bytes of one input, for readers that take a path.
class InputFile {
 public:
  InputFile(const std::uint8_t* bytes, std::size_t size) : descriptor_(::memfd_create("input", 0)) {
    if (descriptor_ < 0 || ::write(descriptor_, bytes, size) != static_cast<ssize_t>(size)) std::abort();
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile() { ::close(descriptor_); }

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace mirrortrain::fuzz
