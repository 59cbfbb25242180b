#include "data/files/input.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/open_file.h"
#include "data/files/inflate.h"
#include "data/files/zstd.h"

namespace mirrortrain::data {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& reason) {
  throw Error(fmt::format("{}: cannot read this data file: {}", path, reason));
}

class PlainInput : public Input {
 public:
  explicit PlainInput(PlainFile file) : Input(file.path()), file_(std::move(file)) {}

  std::size_t read(std::span<std::byte> to) override {
    const std::size_t count = file_.read_at(offset_, to);
    offset_ += count;
    return count;
  }
  std::optional<std::uint64_t> offset() const override { return offset_; }
  void skip(std::uint64_t bytes, const std::string& what) override {
    const std::uint64_t left = file_.size() - std::min(offset_, file_.size());
    if (bytes > left) fail_truncated(bytes, left, what);
    offset_ += bytes;
  }
  std::uint64_t most_bytes() const override { return file_.size(); }

 private:
  PlainFile file_;
  std::uint64_t offset_ = 0;
};

/// What to do about a file that cannot be opened.
std::string remedy_of(const std::string& path, int reason) {
  if (reason == EACCES) return "allow reading it";
  std::error_code is_no_link;
  const std::filesystem::path target = std::filesystem::read_symlink(path, is_no_link);
  if (!is_no_link) return fmt::format("it is a link to {}: get that file, or remove the link", target.string());
  return "check the path; one in a file begins at the file's folder, one of --set where the program runs";
}

}  // namespace

PlainFile::PlainFile(const std::string& path) : path_(path) {
  descriptor_ = open_to_read(path);
  if (descriptor_ < 0) {
    const int reason = errno;
    fail(path, fmt::format("{}; {}", std::strerror(reason), remedy_of(path, reason)));
  }
  struct stat status {};
  const bool known = ::fstat(descriptor_, &status) == 0;
  if (!known || !S_ISREG(status.st_mode)) {
    ::close(std::exchange(descriptor_, -1));
    fail(path, S_ISDIR(status.st_mode) ? "it is a folder; name a file in it, or those in it as 'FOLDER/*'"
                                       : "it is not a regular file");
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

PlainFile::PlainFile(PlainFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}

PlainFile::~PlainFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::size_t PlainFile::read_at(std::uint64_t offset, std::span<std::byte> to) const {
  std::size_t done = 0;
  while (done < to.size()) {
    const ssize_t count = ::pread(descriptor_, to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(path_, std::strerror(errno));
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

Bytes PlainFile::read_whole() const {
  Bytes bytes(size_, path_);
  if (read_at(0, {bytes.data(), bytes.size()}) != size_) fail(path_, "it became shorter while being read");
  return bytes;
}

void PlainFile::read_whole(std::vector<std::byte>& to) const {
  try {
    to.resize(size_);
  } catch (const std::exception&) {
    throw Error(fmt::format("{}: not enough memory for its {} bytes; remove it or use a machine with more memory",
                            path_, size_));
  }
  if (read_at(0, to) != size_) fail(path_, "it became shorter while being read");
}

std::string Input::name_note() const {
  return name_.ends_with(".gz") && !is_compressed()
             ? "; in spite of its name the file is not gzip, and was read as it is"
             : "";
}

void Input::read_all(std::span<std::byte> to, const std::string& what) {
  const std::size_t count = read(to);
  if (count < to.size()) fail_truncated(to.size(), count, what);
}

void Input::skip(std::uint64_t bytes, const std::string& what) {
  std::vector<std::byte> block(std::size_t{1} << 16);
  for (std::uint64_t done = 0; done < bytes;) {
    const auto some = static_cast<std::size_t>(std::min<std::uint64_t>(block.size(), bytes - done));
    const std::size_t count = read(std::span(block).first(some));
    done += count;
    if (count < some) fail_truncated(bytes, done, what);
  }
}

void Input::fail_truncated(std::uint64_t expected, std::uint64_t found, const std::string& what) const {
  throw Error(fmt::format("{}: truncated: expected {} bytes of {}, found {}; get the file again", name(), expected,
                          what, found));
}

void Input::require_possible(std::uint64_t announced, const std::string& what) const {
  if (announced <= most_bytes()) return;
  throw Error(
      fmt::format("{}: the header announces {} bytes of {}, but the file holds at most {}; it is truncated or "
                  "damaged, get it again",
                  name(), announced, what, most_bytes()));
}

void Input::require_end() {
  std::array<std::byte, 1> one;
  if (read(one) == 0) return;
  throw Error(
      fmt::format("{}: found more bytes after the data that the header announces; the file is damaged or two files "
                  "were joined",
                  name()));
}

std::unique_ptr<Input> open_input(const std::string& path) {
  PlainFile file(path);
  // The third byte identifies deflate, the only method.
  constexpr std::array kGzip = {std::byte{0x1f}, std::byte{0x8b}, std::byte{0x08}};
  std::array<std::byte, 4> magic{};
  const std::size_t count = file.read_at(0, magic);
  const std::size_t compared = std::min(count, kGzip.size());
  const bool is_gzip = count >= 2 && std::equal(magic.begin(), magic.begin() + compared, kGzip.begin());
  const bool is_of_zstd = is_zstd({reinterpret_cast<const char*>(magic.data()), count});
  if (!is_gzip && !is_of_zstd) return std::make_unique<PlainInput>(std::move(file));
  const std::uint64_t size = file.size(), most = most_inflated(size);
  auto compressed = std::make_shared<PlainInput>(std::move(file));
  if (is_of_zstd) {
    return open_zstd(
        path, [compressed](std::span<std::byte> to) { return compressed->read(to); }, size);
  }
  return std::make_unique<InflateInput>(
      path, [compressed](std::span<std::byte> to) { return compressed->read(to); }, most);
}

std::string read_text(Input& input) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  std::string text;
  std::size_t size = 0, got = 0;
  do {
    text.resize(size + kPiece);
    got = input.read(std::as_writable_bytes(std::span(text).subspan(size)));
    size += got;
  } while (got == kPiece);
  text.resize(size);
  return text;
}

}  // namespace mirrortrain::data
