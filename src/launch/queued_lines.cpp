#include "launch/queued_lines.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>

namespace mirrortrain::launch {

QueuedLines::QueuedLines(int descriptor) : descriptor_(descriptor), pipe_handler_(::signal(SIGPIPE, SIG_IGN)) {}

QueuedLines::~QueuedLines() { ::signal(SIGPIPE, pipe_handler_); }

/// Asks whether there is room before each write: the descriptor may be shared with other processes, and cannot be made
/// nonblocking for this one alone. A pipe that has room takes PIPE_BUF bytes at once.
int QueuedLines::write_available() {
  while (!text_.empty()) {
    pollfd event{descriptor_, POLLOUT, 0};
    if (::poll(&event, 1, 0) <= 0) return 0;
    const ssize_t count = ::write(descriptor_, text_.data(), std::min<std::size_t>(text_.size(), PIPE_BUF));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return 0;
    if (count < 0) return errno;
    text_.erase(0, static_cast<std::size_t>(count));
  }
  return 0;
}

}  // namespace mirrortrain::launch
