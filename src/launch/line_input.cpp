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
    if (count > 0) keep({part.data(), static_cast<std::size_t>(count)});
  }
}

void LineInput::keep(std::string_view part) {
  for (std::size_t end; (end = part.find('\n')) != std::string_view::npos; part.remove_prefix(end + 1)) {
    keep(part.substr(0, end));
    lines_.push_back(std::exchange(text_, ""));
  }
  text_.append(part.substr(0, kMostBytes - text_.size()));
}

std::vector<std::string> LineInput::take_lines() {
  read_available();
  return std::exchange(lines_, {});
}

std::string LineInput::take_unfinished() { return std::exchange(text_, ""); }

}  // namespace mirrortrain::launch
