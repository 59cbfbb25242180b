// libzip does not report where a file lies in its archive. The format: APPNOTE.TXT of PKWARE, 4.3.
#include "data/files/zip_place.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "data/files/input.h"

namespace mirrortrain::data {
namespace {

constexpr std::uint64_t kBeyond32 = 0xffffffff;  // marks a number that is in the zip64 fields

/// The bytes of a header, whose numbers are little-endian.
class Header {
 public:
  Header(const PlainFile& file, std::uint64_t offset, std::size_t bytes) : bytes_(bytes) {
    if (file.read_at(offset, bytes_) < bytes) bytes_.clear();
  }
  bool is_whole() const { return !bytes_.empty(); }
  std::uint64_t number(std::size_t at, std::size_t bytes) const {
    std::uint64_t number = 0;
    for (std::size_t i = bytes; i-- > 0;) number = number << 8 | std::to_integer<std::uint64_t>(bytes_[at + i]);
    return number;
  }
  std::string_view text(std::size_t at, std::size_t bytes) const {
    return {reinterpret_cast<const char*>(bytes_.data()) + at, bytes};
  }
  std::size_t size() const { return bytes_.size(); }

 private:
  std::vector<std::byte> bytes_;
};

struct Directory {
  std::uint64_t offset = 0, bytes = 0;
};

/// From the record at the end of the archive, behind which there may be a comment.
std::optional<Directory> find_directory(const PlainFile& file) {
  constexpr std::size_t kEnd = 22, kLongestComment = 0xffff, kLocator = 20, kEnd64 = 56;
  const std::uint64_t searched = std::min<std::uint64_t>(file.size(), kEnd + kLongestComment);
  const Header tail(file, file.size() - searched, static_cast<std::size_t>(searched));
  if (searched < kEnd || !tail.is_whole()) return std::nullopt;
  for (std::size_t at = tail.size() - kEnd + 1; at-- > 0;) {
    if (tail.number(at, 4) != 0x06054b50 || at + kEnd + tail.number(at + 20, 2) != tail.size()) continue;
    Directory directory{tail.number(at + 16, 4), tail.number(at + 12, 4)};
    if (directory.offset != kBeyond32 && directory.bytes != kBeyond32) return directory;
    const std::uint64_t end = file.size() - searched + at;
    if (end < kLocator) return std::nullopt;
    const Header locator(file, end - kLocator, kLocator);
    if (!locator.is_whole() || locator.number(0, 4) != 0x07064b50) return std::nullopt;
    const Header end64(file, locator.number(8, 8), kEnd64);
    if (!end64.is_whole() || end64.number(0, 4) != 0x06064b50) return std::nullopt;
    return Directory{end64.number(48, 8), end64.number(40, 8)};
  }
  return std::nullopt;
}

/// The offset of a local header that an entry of the directory has: its own, or that in the zip64 field of its extra
/// fields, which has those numbers alone that do not fit.
std::optional<std::uint64_t> local_header_of(const Header& directory, std::size_t entry, std::size_t name_bytes,
                                             std::size_t extra_bytes) {
  const std::uint64_t offset = directory.number(entry + 42, 4);
  if (offset != kBeyond32) return offset;
  std::size_t at = entry + 46 + name_bytes;
  const std::size_t end = at + extra_bytes;
  while (at + 4 <= end) {
    const std::uint64_t kind = directory.number(at, 2), bytes = directory.number(at + 2, 2);
    at += 4;
    if (kind == 1) {
      const std::size_t before = 8 * ((directory.number(entry + 24, 4) == kBeyond32 ? 1u : 0u) +
                                      (directory.number(entry + 20, 4) == kBeyond32 ? 1u : 0u));
      if (before + 8 > bytes || at + bytes > end) return std::nullopt;
      return directory.number(at + before, 8);
    }
    at += bytes;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> place_in_zip(const std::string& archive, const std::string& file) {
  const PlainFile opened(archive);
  const std::optional<Directory> found = find_directory(opened);
  if (!found || found->bytes > opened.size() || found->offset > opened.size() - found->bytes) return std::nullopt;
  constexpr std::uint64_t kMostDirectory = std::uint64_t{64} << 20;  // of a hundred thousand members, or damaged
  if (found->bytes > kMostDirectory) return std::nullopt;
  const Header directory(opened, found->offset, static_cast<std::size_t>(found->bytes));
  constexpr std::size_t kEntry = 46, kLocal = 30;
  for (std::size_t entry = 0; directory.is_whole() && entry + kEntry <= directory.size();) {
    if (directory.number(entry, 4) != 0x02014b50) return std::nullopt;
    const auto name = static_cast<std::size_t>(directory.number(entry + 28, 2)),
               extra = static_cast<std::size_t>(directory.number(entry + 30, 2)),
               comment = static_cast<std::size_t>(directory.number(entry + 32, 2));
    if (entry + kEntry + name + extra + comment > directory.size()) return std::nullopt;
    const bool is_stored = directory.number(entry + 10, 2) == 0, is_encrypted = directory.number(entry + 8, 2) & 1;
    if (directory.text(entry + kEntry, name) == file) {
      const auto local_at = local_header_of(directory, entry, name, extra);
      if (!is_stored || is_encrypted || !local_at) return std::nullopt;
      const Header local(opened, *local_at, kLocal);
      if (!local.is_whole() || local.number(0, 4) != 0x04034b50) return std::nullopt;
      return *local_at + kLocal + local.number(26, 2) + local.number(28, 2);
    }
    entry += kEntry + name + extra + comment;
  }
  return std::nullopt;
}

}  // namespace mirrortrain::data
