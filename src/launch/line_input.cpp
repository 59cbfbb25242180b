#include "launch/line_input.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <utility>

namespace mirrortrain::launch {

/// Asks whether there is something before each read: the descriptor may be shared with other processes, as a terminal
/// is, and cannot be made nonblocking for this one alone.
void LineInput::read_available() {
  std::array<char, 4096> part;
  while (!has_ended_) {
    pollfd event{descriptor_, POLLIN, 0};
    if (::poll(&event, 1, 0) <= 0) return;
    const ssize_t count = ::read(descriptor_, part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    has_ended_ = count <= 0;
    if (count > 0) text_.append(part.data(), static_cast<std::size_t>(count));
  }
}

std::vector<std::string> LineInput::take_lines() {
  read_available();
  std::vector<std::string> lines;
  std::size_t at = 0;
  for (std::size_t end; (end = text_.find('\n', at)) != std::string::npos; at = end + 1) {
    lines.push_back(text_.substr(at, end - at));
  }
  text_.erase(0, at);
  return lines;
}

std::string LineInput::take_unfinished() { return std::exchange(text_, ""); }

}  // namespace mirrortrain::launch
