#include "launch/line_output.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace mirrortrain::launch {

void LineOutput::line(std::string_view prefix, std::string_view text) {
  if (is_lost_) return;
  text_.append(prefix).append(text).push_back('\n');
}

void LineOutput::write_some() {
  // A writable pipe has space for this much, and a terminal accepts as much as it can.
  const std::size_t bytes = std::min<std::size_t>(PIPE_BUF, text_.size() - written_);
  const ssize_t written = ::write(descriptor_, text_.data() + written_, bytes);
  if (written < 0) {
    if (errno == EINTR || errno == EAGAIN) return;  // the latter if another process made the terminal nonblocking
    error_ = ::strerror(errno);
    is_lost_ = true;
    text_.clear();
    written_ = 0;
    return;
  }
  written_ += static_cast<std::size_t>(written);
  if (written_ == text_.size() || written_ > kEnough) {
    text_.erase(0, written_);
    written_ = 0;
  }
}

std::string LineOutput::take_error() { return std::exchange(error_, ""); }

}  // namespace mirrortrain::launch
