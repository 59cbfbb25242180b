#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace mirrortrain {

/// Writes all bytes to a descriptor; false, with errno set, if it cannot. In a header, as modules have it that are not
/// linked with this folder.
inline bool write_all(int descriptor, const void* bytes, std::size_t size) {
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t done = ::write(descriptor, at, size);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    at += done;
    size -= static_cast<std::size_t>(done);
  }
  return true;
}

}  // namespace mirrortrain
