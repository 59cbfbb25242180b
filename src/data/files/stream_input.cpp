#include "data/files/stream_input.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/open_file.h"
#include "base/utf8.h"
#include "data/files/zstd.h"

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

std::string ending_of(const std::string& path) {
  std::filesystem::path name = in_lower_case(path);
  if (name.extension() == ".gz" || name.extension() == ".zst") name.replace_extension();
  return name.extension().string();
}

StreamInput::StreamInput(const std::string& path, std::function<bool()> stops)
    : name_(path == "-" ? "stdin" : path), stops_(std::move(stops)) {
  struct stat status {};
  if (path == "-") {
    descriptor_ = open_stdin();
  } else if (::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
    descriptor_ = open_to_read(path);  // which remembers that it was read
  } else {
    // Not waiting for a pipe's writer, as `receive` does that, which can be stopped.
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor_ >= 0) ::fcntl(descriptor_, F_SETFL, ::fcntl(descriptor_, F_GETFL) & ~O_NONBLOCK);
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

/// As many bytes as there are now, at least one; 0 at the end.
std::size_t StreamInput::receive(std::span<std::byte> to) {
  if (!beginning_.empty()) {
    const std::size_t count = std::min(to.size(), beginning_.size());
    std::copy_n(beginning_.begin(), count, to.begin());
    beginning_.erase(beginning_.begin(), beginning_.begin() + static_cast<std::ptrdiff_t>(count));
    return count;
  }
  while (!size_ && !wait(kBetweenQuestions)) {
    if (stops_ && stops_()) throw ReadingStopped();
  }
  ssize_t count = 0;
  do {
    count = ::read(descriptor_, to.data(), to.size());
  } while (count < 0 && errno == EINTR);
  if (count < 0) fail(name_, std::strerror(errno));
  bytes_read_ += static_cast<std::uint64_t>(count);
  return static_cast<std::size_t>(count);
}

/// Finds whether the bytes are compressed.
void StreamInput::begin() {
  has_begun_ = true;
  std::array<std::byte, 5> magic{};
  std::size_t count = 0;
  while (count < magic.size()) {
    const std::size_t more = receive(std::span(magic).subspan(count));
    if (more == 0) break;
    count += more;
  }
  beginning_.assign(magic.begin(), magic.begin() + static_cast<std::ptrdiff_t>(count));
  const std::string_view beginning(reinterpret_cast<const char*>(magic.data()), count);
  const bool is_named = size_ && name_ != "stdin";
  constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();
  if (beginning.starts_with("\x1f\x8b")) {
    const std::uint64_t most = size_ ? most_inflated(*size_) : kUnknown;
    auto inflated = std::make_unique<InflateInput>(
        name_, [this](std::span<std::byte> to) { return receive(to); }, most);
    if (!size_) inflated->return_at_once();
    decoding_ = std::move(inflated);
  } else if (is_zstd(beginning)) {
    decoding_ = open_zstd(
        name_, [this](std::span<std::byte> to) { return receive(to); }, size_.value_or(kUnknown), !size_);
  } else if (is_named ? is_parquet_file(name_) : is_parquet(beginning)) {
    if (!is_named) fail(name_, "Parquet is read from its end on; name a file");
    auto parquet = std::make_unique<ParquetInput>(name_, std::nullopt);
    parquet_ = parquet.get();
    decoding_ = std::move(parquet);
  }
}

bool StreamInput::read(std::string& text, std::size_t most) {
  if (!has_begun_) begin();
  const std::size_t before = text.size();
  text.resize(before + most);
  const auto to = std::as_writable_bytes(std::span(text).subspan(before));
  std::size_t count = 0;
  try {
    count = decoding_ != nullptr ? decoding_->read(to) : receive(to);
  } catch (...) {
    text.resize(before);
    throw;
  }
  text.resize(before + count);
  return count > 0;
}

}  // namespace mirrortrain::data
