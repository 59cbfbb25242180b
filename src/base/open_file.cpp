#include "base/open_file.h"

#include <fcntl.h>

#include <cerrno>

namespace mirrortrain {

int open_to_read(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor >= 0 || errno != EWOULDBLOCK) return descriptor;
  return ::open(path.c_str(), O_RDONLY | O_CLOEXEC);  // a lease, which regular files alone have
}

}  // namespace mirrortrain
