#include "data/files/zip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "data/files/inflate.h"

namespace mirrortrain::data {
namespace {

constexpr std::size_t kEndBytes = 22, kEntryBytes = 46, kLocalBytes = 30, kLocator64Bytes = 20, kEnd64Bytes = 56;
constexpr std::uint64_t kIn64 = 0xffffffff;  // the actual number is in the zip64 field

// A little-endian number of `bytes` bytes; 0 beyond the end.
std::uint64_t number(std::span<const std::byte> from, std::size_t at, std::size_t bytes) {
  std::uint64_t value = 0;
  if (at + bytes > from.size()) return 0;
  for (std::size_t i = bytes; i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(from[at + i]);
  return value;
}

// The stored bytes of one file.
class Section {
 public:
  Section(const PlainFile& file, std::uint64_t offset, std::uint64_t bytes) : file_(&file), at_(offset), left_(bytes) {}

  std::size_t operator()(std::span<std::byte> to) {
    const std::size_t count = file_->read_at(at_, to.first(std::min<std::uint64_t>(to.size(), left_)));
    at_ += count;
    left_ -= count;
    return count;
  }

 private:
  const PlainFile* file_;
  std::uint64_t at_, left_;
};

class StoredInput : public Input {
 public:
  StoredInput(std::string name, Section section, std::uint64_t bytes)
      : Input(std::move(name)), section_(section), bytes_(bytes) {}
  std::size_t read(std::span<std::byte> to) override { return section_(to); }
  std::uint64_t most_bytes() const override { return bytes_; }

 private:
  Section section_;
  std::uint64_t bytes_;
};

// Verifies the checksum at the end of the content.
class CheckedInput : public Input {
 public:
  CheckedInput(std::unique_ptr<Input> input, std::uint32_t crc32)
      : Input(input->name()), input_(std::move(input)), expected_(crc32) {}

  std::size_t read(std::span<std::byte> to) override {
    const std::size_t count = input_->read(to);
    crc32_ = static_cast<std::uint32_t>(crc32_z(crc32_, reinterpret_cast<const Bytef*>(to.data()), count));
    if (count < to.size() && crc32_ != expected_) {
      throw Error(fmt::format("{}: damaged: its checksum does not fit; get the file again", name()));
    }
    return count;
  }
  std::uint64_t most_bytes() const override { return input_->most_bytes(); }

 private:
  std::unique_ptr<Input> input_;
  std::uint32_t expected_, crc32_ = 0;
};

}  // namespace

Zip::Zip(const std::string& path) : file_(path) { read_directory(find_directory()); }

std::vector<std::string> Zip::names() const {
  std::vector<std::string> result;
  for (const Entry& entry : entries_) result.push_back(entry.name);
  return result;
}

std::unique_ptr<Input> Zip::open(const std::string& name, std::string label) const {
  const auto entry = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.name == name; });
  if (entry == entries_.end()) fail(fmt::format("it holds no '{}'", name));
  if (entry->encrypted) fail(fmt::format("'{}' is encrypted; save it without a password", name));
  const std::uint64_t offset = data_offset(*entry);
  if (entry->compressed_bytes > file_.size() - offset) fail("it is truncated; get the file again");
  const Section section(file_, offset, entry->compressed_bytes);
  std::unique_ptr<Input> input;
  if (entry->method == 0) {
    input = std::make_unique<StoredInput>(std::move(label), section, entry->compressed_bytes);
  } else if (entry->method == 8) {
    const std::uint64_t most = std::min(entry->bytes, most_inflated(entry->compressed_bytes));
    input = std::make_unique<InflateInput>(std::move(label), InflateInput::Kind::kRawDeflate, section, most);
  } else {
    fail(fmt::format("'{}' is compressed by method {}; save it with numpy.savez or savez_compressed", name,
                     entry->method));
  }
  return std::make_unique<CheckedInput>(std::move(input), entry->crc32);
}

// The end record is at the end of the file, except for a comment of at most 64 KiB.
Zip::Directory Zip::find_directory() const {
  std::vector<std::byte> tail(std::min<std::uint64_t>(file_.size(), kEndBytes + 0xffff));
  const std::uint64_t tail_offset = file_.size() - tail.size();
  tail.resize(file_.read_at(tail_offset, tail));
  for (std::size_t at = tail.size() < kEndBytes ? 0 : tail.size() - kEndBytes + 1; at-- > 0;) {
    if (number(tail, at, 4) != 0x06054b50 || at + kEndBytes + number(tail, at + 20, 2) != tail.size()) continue;
    const Directory directory{number(tail, at + 16, 4), number(tail, at + 12, 4)};
    const bool in_64 = directory.offset == kIn64 || directory.bytes == kIn64 || number(tail, at + 10, 2) == 0xffff;
    return in_64 ? find_directory64(tail_offset + at) : directory;
  }
  fail("expected a zip archive, found no directory at its end; it is truncated or of another format");
}

Zip::Directory Zip::find_directory64(std::uint64_t end_offset) const {
  std::array<std::byte, kLocator64Bytes> locator{};
  std::array<std::byte, kEnd64Bytes> end{};
  if (end_offset < locator.size() || file_.read_at(end_offset - locator.size(), locator) != locator.size() ||
      number(locator, 0, 4) != 0x07064b50 || number(locator, 8, 8) > file_.size() ||
      file_.read_at(number(locator, 8, 8), end) != end.size() || number(end, 0, 4) != 0x06064b50) {
    fail("its zip64 directory is damaged; get the file again");
  }
  return {number(end, 48, 8), number(end, 40, 8)};
}

void Zip::read_directory(const Directory& place) {
  if (place.offset > file_.size() || place.bytes > file_.size() - place.offset) {
    fail("its directory is damaged; get the file again");
  }
  std::vector<std::byte> directory(place.bytes);
  directory.resize(file_.read_at(place.offset, directory));
  for (std::span<const std::byte> left = directory; !left.empty();) {
    const std::size_t name_bytes = number(left, 28, 2), extra_bytes = number(left, 30, 2);
    const std::size_t bytes = kEntryBytes + name_bytes + extra_bytes + number(left, 32, 2);
    if (left.size() < bytes || number(left, 0, 4) != 0x02014b50) fail("its directory is damaged; get the file again");
    Entry entry;
    entry.name.assign(reinterpret_cast<const char*>(left.data()) + kEntryBytes, name_bytes);
    entry.encrypted = number(left, 8, 2) & 1;
    entry.method = static_cast<int>(number(left, 10, 2));
    entry.crc32 = static_cast<std::uint32_t>(number(left, 16, 4));
    entry.compressed_bytes = number(left, 20, 4);
    entry.bytes = number(left, 24, 4);
    entry.offset = number(left, 42, 4);
    // The zip64 field has, in this order, the numbers that did not fit.
    auto extra = left.subspan(kEntryBytes + name_bytes, extra_bytes);
    while (extra.size() >= 4 && number(extra, 0, 2) != 1) {
      extra = extra.subspan(std::min(extra.size(), 4 + number(extra, 2, 2)));
    }
    std::size_t at = 4;
    for (std::uint64_t* value : {&entry.bytes, &entry.compressed_bytes, &entry.offset}) {
      if (*value != kIn64) continue;
      *value = number(extra, at, 8);
      at += 8;
    }
    entries_.push_back(std::move(entry));
    left = left.subspan(bytes);
  }
}

// The header before the data repeats the name, with its own extra fields.
std::uint64_t Zip::data_offset(const Entry& entry) const {
  std::array<std::byte, kLocalBytes> header{};
  if (entry.offset > file_.size() || file_.read_at(entry.offset, header) != header.size() ||
      number(header, 0, 4) != 0x04034b50) {
    fail(fmt::format("the header of '{}' is damaged; get the file again", entry.name));
  }
  const std::uint64_t offset = entry.offset + kLocalBytes + number(header, 26, 2) + number(header, 28, 2);
  if (offset > file_.size()) fail("it is truncated; get the file again");
  return offset;
}

void Zip::fail(const std::string& reason) const { throw Error(fmt::format("{}: {}", file_.path(), reason)); }

}  // namespace mirrortrain::data
