#include "data/records/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/crc32c.h"
#include "base/error.h"

namespace mirrortrain::data {
namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 20;

template <class Number>
Number number_at(std::span<const std::byte> bytes) {
  Number number;
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

}  // namespace

RecordReader::RecordReader(const std::string& path) : input_(open_input(path)), buffer_(kBuffer) {}

void RecordReader::fail(const std::string& what) const {
  throw Error(fmt::format("{}: record {} (counting from 0) {}{}", input_->name(), number_, what,
                          number_ == 0
                              ? "; expected a TFRecord file, as tf.io.TFRecordWriter writes it" + input_->name_note()
                              : "; the file is damaged, get it again"));
}

/// Whether this many bytes are left; if so, they are in the buffer. It grows with what comes, not with what a record
/// announces: a small compressed file may claim to have more than the memory.
bool RecordReader::fill(std::size_t bytes) {
  if (end_ - begin_ >= bytes) return true;
  std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_), buffer_.begin() + static_cast<std::ptrdiff_t>(end_),
            buffer_.begin());
  end_ -= begin_;
  begin_ = 0;
  while (end_ < bytes) {
    if (end_ == buffer_.size()) buffer_.resize(std::min(bytes, 2 * buffer_.size()));
    const std::size_t count = input_->read(std::span(buffer_).subspan(end_));
    end_ += count;
    offset_ += count;
    if (end_ < buffer_.size()) break;  // the end of the file
  }
  return end_ >= bytes;
}

std::span<const std::byte> RecordReader::take(std::size_t bytes, const char* what) {
  if (!fill(bytes)) fail(fmt::format("is truncated: expected {} bytes of {}, found {}", bytes, what, end_ - begin_));
  begin_ += bytes;
  return std::span(buffer_).subspan(begin_ - bytes, bytes);
}

bool RecordReader::matches_checksum(std::span<const std::byte> of) {
  return masked_crc32c_of(of.first(of.size() - kChecksum)) == number_at<std::uint32_t>(of.last(kChecksum));
}

std::int64_t RecordReader::likely_records() const {
  if (is_compressed()) return 0;
  return static_cast<std::int64_t>(input_->most_bytes() / (sizeof length_ + 2 * kChecksum + length_)) + 1;
}

std::optional<std::span<const std::byte>> RecordReader::next() {
  if (!fill(1)) return std::nullopt;
  ++number_;
  const auto header = take(sizeof length_ + kChecksum, "its header");
  if (!matches_checksum(header)) fail("does not match its checksum of the length");
  length_ = number_at<std::uint64_t>(header);
  if (length_ > input_->most_bytes()) fail(fmt::format("has {} bytes, more than the file", length_));
  const auto record = take(static_cast<std::size_t>(length_) + kChecksum, "the record");
  if (!matches_checksum(record)) {
    throw DamagedRecord(
        fmt::format("{}: record {} (counting from 0) does not match its checksum of the bytes; the file is "
                    "damaged, get it again",
                    input_->name(), number_));
  }
  return record.first(static_cast<std::size_t>(length_));
}

}  // namespace mirrortrain::data
