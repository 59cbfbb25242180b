#include "data/files/stream_input.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/open_file.h"

namespace mirrortrain::data {
namespace {

[[noreturn]] void fail(const std::string& name, const char* reason) {
  throw Error(fmt::format("{}: cannot read this data file: {}", name, reason));
}

/// Long enough for a writer that is busy to write on, and too short to be noticed by who waits for the predictions.
constexpr int kMoment = 20;
constexpr int kBetweenQuestions = 200;

/// Stdin, at a position of its own where it is a file, so that it can be read again.
int open_stdin() {
  struct stat status {};
  const off_t position = ::lseek(STDIN_FILENO, 0, SEEK_CUR);
  if (position >= 0 && ::fstat(STDIN_FILENO, &status) == 0 && S_ISREG(status.st_mode)) {
    const int own = ::open("/proc/self/fd/0", O_RDONLY | O_CLOEXEC);
    if (own >= 0 && ::lseek(own, position, SEEK_SET) == position) return own;
    if (own >= 0) ::close(own);
  }
  return ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
}

}  // namespace

StreamInput::StreamInput(const std::string& path, std::function<bool()> stops)
    : name_(path == "-" ? "stdin" : path), stops_(std::move(stops)) {
  struct stat status {};
  if (path == "-") {
    descriptor_ = open_stdin();
  } else if (::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
    descriptor_ = open_to_read(path);  // which remembers that it was read
  } else {
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);  // waits for a pipe's writer
  }
  if (descriptor_ < 0) fail(name_, std::strerror(errno));
  const bool known = ::fstat(descriptor_, &status) == 0;
  if (!known || S_ISDIR(status.st_mode)) {
    ::close(std::exchange(descriptor_, -1));
    fail(name_, known ? "it is a folder" : std::strerror(errno));
  }
  if (S_ISREG(status.st_mode)) size_ = static_cast<std::uint64_t>(status.st_size);
  if (path == "-") note_read("/dev/stdin");
}

StreamInput::~StreamInput() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool StreamInput::wait(int milliseconds) const {
  pollfd input{descriptor_, POLLIN, 0};
  return ::poll(&input, 1, milliseconds) > 0;  // also at the end and for errors, which `read` finds
}

bool StreamInput::has_more_now() const { return size_.has_value() || wait(kMoment); }

bool StreamInput::read(std::string& text, std::size_t most) {
  while (!size_ && stops_ && !wait(kBetweenQuestions)) {
    if (stops_()) throw ReadingStopped();
  }
  const std::size_t before = text.size();
  text.resize(before + most);
  ssize_t count = 0;
  do {
    count = ::read(descriptor_, text.data() + before, most);
  } while (count < 0 && errno == EINTR);
  text.resize(before + static_cast<std::size_t>(count > 0 ? count : 0));
  if (count < 0) fail(name_, std::strerror(errno));
  return count > 0;
}

}  // namespace mirrortrain::data
