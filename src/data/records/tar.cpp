#include "data/records/tar.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/error.h"
#include "base/round_up.h"
#include "base/utf8.h"

namespace mirrortrain::data {
namespace {

constexpr std::size_t kTarBlock = 512;
/// Of a name, and of the other texts of pax.
constexpr std::uint64_t kLongestText = std::uint64_t{1} << 20;

std::string_view text_in(std::span<const std::byte> header, std::size_t at, std::size_t bytes) {
  const std::string_view text(reinterpret_cast<const char*>(header.data()) + at, bytes);
  return text.substr(0, std::min(text.find('\0'), text.size()));
}

}  // namespace

void TarReader::fail(const std::string& what) const { throw Error(fmt::format("{}: byte {}: {}", path_, at_, what)); }

TarReader::Block TarReader::block_at(std::uint64_t offset) {
  constexpr std::size_t kWindow = 8 * kTarBlock;
  if (window_.empty() || offset < window_at_ || offset + kTarBlock > window_at_ + window_.size()) {
    window_at_ = offset;
    window_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kWindow, file_.size() - offset)));
    file_.read(offset, window_);
  }
  return Block(window_).subspan(static_cast<std::size_t>(offset - window_at_), kTarBlock);
}

/// Octal digits or, for what has more, bytes behind one with the highest bit set.
std::uint64_t TarReader::number_in(Block header, std::size_t at, std::size_t bytes) const {
  std::uint64_t number = 0;
  if ((header[at] & std::byte{0x80}) != std::byte{0}) {
    for (std::size_t i = 1; i < bytes; ++i) {
      if (number >> 54 != 0) fail("a number in the archive's header is too large; the archive is damaged");
      number = number << 8 | std::to_integer<std::uint64_t>(header[at + i]);
    }
    return number;
  }
  std::string_view digits = text_in(header, at, bytes);
  while (digits.starts_with(' ')) digits.remove_prefix(1);
  while (digits.ends_with(' ')) digits.remove_suffix(1);
  for (const char c : digits) {
    if (c < '0' || c > '7') fail("a number in the archive's header has other digits than octal ones; it is damaged");
    number = number << 3 | static_cast<std::uint64_t>(c - '0');
  }
  return number;
}

void TarReader::require_checksum(Block header) const {
  constexpr std::size_t kPlace = 148, kBytes = 8;
  std::int64_t sum = 0, of_signed = 0;  // which old programs wrote
  for (std::size_t i = 0; i < kTarBlock; ++i) {
    const bool is_sum = i >= kPlace && i < kPlace + kBytes;
    const auto byte = is_sum ? std::uint8_t{' '} : std::to_integer<std::uint8_t>(header[i]);
    sum += byte;
    of_signed += static_cast<std::int8_t>(byte);
  }
  const auto stored = static_cast<std::int64_t>(number_in(header, kPlace, kBytes));
  if (stored == sum || stored == of_signed) return;
  fail(at_ == 0 ? "expected a tar archive, whose first header has a checksum; found none that matches"
                : "a header does not match its checksum; the archive is damaged, get it again");
}

std::string TarReader::long_text(std::uint64_t offset, std::uint64_t size) const {
  if (size > kLongestText) fail(fmt::format("a name of {} bytes; the archive is damaged", size));
  std::string text(static_cast<std::size_t>(size), '\0');
  file_.read(offset, std::as_writable_bytes(std::span(text)));
  return text;
}

/// Records as "30 mtime=1350244992.023960108\n".
void TarReader::read_pax(const std::string& records, TarEntry& entry, std::optional<std::uint64_t>& size) const {
  std::string_view rest(records);
  while (!rest.empty() && rest.front() != '\0') {
    std::size_t length = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), length);
    const auto digits = static_cast<std::size_t>(end - rest.data());
    if (error != std::errc() || length <= digits + 1 || length > rest.size()) fail("a damaged header of pax");
    const std::string_view record = rest.substr(digits + 1, length - digits - 2);
    rest.remove_prefix(length);
    const std::size_t equals = record.find('=');
    if (equals == record.npos) fail("a damaged header of pax");
    const std::string_view key = record.substr(0, equals), value = record.substr(equals + 1);
    if (key == "path") entry.name = value;
    if (key == "size") {
      std::uint64_t number = 0;
      const auto parsed = std::from_chars(value.data(), value.data() + value.size(), number);
      if (parsed.ec != std::errc() || parsed.ptr != value.data() + value.size()) fail("a damaged header of pax");
      size = number;
    }
    if (key.starts_with("GNU.sparse."))
      fail("a sparse file, which has no bytes for its holes; pack it without --sparse");
  }
}

std::optional<TarEntry> TarReader::next() {
  TarEntry entry;
  std::optional<std::uint64_t> pax_size;
  bool is_continued = false;  // by the header that a long name is for
  entry.header = at_;
  while (true) {
    if (at_ == file_.size() && !is_continued && at_ > 0) return std::nullopt;  // without the blocks of zeros at its end
    if (file_.size() == 0) fail("expected an archive, found an empty file; get it again");
    if (at_ + kTarBlock > file_.size())
      fail("the archive ends in the midst of a header; it is truncated, get it again");
    const Block header = block_at(at_);
    if (std::ranges::all_of(header, [](std::byte byte) { return byte == std::byte{0}; })) {
      if (is_continued) fail("a long name has no file; the archive is damaged");
      has_end_ = true;
      return std::nullopt;
    }
    require_checksum(header);
    const char type = static_cast<char>(header[156]);
    const bool is_pax_of_all = type == 'g', is_long_name = type == 'L', is_long_link = type == 'K',
               is_pax = type == 'x';
    const bool is_of_next = is_pax_of_all || is_long_name || is_long_link || is_pax;
    std::uint64_t size = number_in(header, 124, 12);
    if (!is_of_next && pax_size) size = *pax_size;
    const std::uint64_t begin = at_ + kTarBlock;
    const bool has_bytes = type != '1' && type != '2' && type != '5' && type != '3' && type != '4' && type != '6';
    if (!has_bytes) size = 0;
    if (size > file_.size() - begin) {
      fail(fmt::format("a file of {} bytes, where the archive has {} more; it is truncated, get it again", size,
                       file_.size() - begin));
    }
    const std::uint64_t next = std::min(begin + round_up(size, kTarBlock), file_.size());
    if (is_of_next) {
      if (is_long_name) {
        const std::string text = long_text(begin, size);
        entry.name = text.substr(0, text.find('\0'));
      }
      if (is_pax || is_pax_of_all) {
        TarEntry of_all;
        std::optional<std::uint64_t> size_of_all;
        read_pax(long_text(begin, size), is_pax ? entry : of_all, is_pax ? pax_size : size_of_all);
      }
      is_continued = true;
      at_ = next;
      continue;
    }
    if (entry.name.empty()) {
      const std::string_view name = text_in(header, 0, 100);
      const bool is_ustar = text_in(header, 257, 6) == "ustar";  // GNU's own has spaces behind it, and other fields
      const std::string_view prefix = is_ustar ? text_in(header, 345, 155) : std::string_view();
      entry.name = prefix.empty() ? std::string(name) : fmt::format("{}/{}", prefix, name);
    }
    if (type == '1' || type == '2') {
      fail(fmt::format("'{}' is a link; pack the files themselves, with tar's --dereference and --hard-dereference",
                       shortened(entry.name, 200)));
    }
    if (type == 'S') {
      fail(fmt::format("'{}' is a sparse file, which has no bytes for its holes; pack it without --sparse",
                       shortened(entry.name, 200)));
    }
    at_ = next;
    if (type == '\0' || type == '0' || type == '7') {
      entry.offset = begin;
      entry.size = size;
      if (!entry.name.ends_with('/')) return entry;  // else a folder, as old programs wrote it
    }
    entry = {"", at_, 0, 0};  // of a folder or a device
    pax_size.reset();
    is_continued = false;
  }
}

}  // namespace mirrortrain::data
