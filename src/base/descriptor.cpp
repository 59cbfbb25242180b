#include "base/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

namespace mirrortrain {

void Descriptor::close() {
  if (is_open()) ::close(std::exchange(value_, -1));
}

Pipe::Pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    throw Error(fmt::format("cannot make a pipe: {}; `ulimit -n` limits the open files", ::strerror(errno)));
  }
  read = Descriptor(ends[0]);
  write = Descriptor(ends[1]);
}

void make_nonblocking(const Descriptor& descriptor) {
  ::fcntl(descriptor.get(), F_SETFL, ::fcntl(descriptor.get(), F_GETFL) | O_NONBLOCK);
}

void fill_standard_streams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (::fcntl(stream, F_GETFD) < 0) ::open("/dev/null", O_RDWR);  // gets the lowest free number
  }
}

}  // namespace mirrortrain
