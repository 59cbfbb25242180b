#include "data/files/inflate.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace mirrortrain::data {
namespace {

constexpr std::size_t kCompressedBlock = std::size_t{1} << 18;
constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;  // zlib's counters have 32 bits
constexpr int kGzipWindow = 15 + 16;

}  // namespace

InflateInput::InflateInput(std::string name, ReadCompressed read_compressed, std::uint64_t most_bytes)
    : Input(std::move(name)), read_compressed_(std::move(read_compressed)), most_bytes_(most_bytes) {
  compressed_.resize(kCompressedBlock);
  if (inflateInit2(&stream_, kGzipWindow) != Z_OK) fail("not enough memory");
}

InflateInput::~InflateInput() { inflateEnd(&stream_); }

std::size_t InflateInput::read(std::span<std::byte> to) {
  std::size_t done = 0;
  while (done < to.size() && !ended_) {
    if (returns_at_once_ && done > 0 && stream_.avail_in == 0 && !was_full_) break;
    if (is_between_members_) {
      begin_member();
      continue;
    }
    if (!was_full_) {
      if (stream_.avail_in == 0) refill();
      if (stream_.avail_in == 0) fail("it ends too early");
    }
    const std::size_t capacity = std::min(to.size() - done, kMostAtOnce);
    stream_.next_out = reinterpret_cast<Bytef*>(to.data() + done);
    stream_.avail_out = static_cast<uInt>(capacity);
    const int result = inflate(&stream_, Z_NO_FLUSH);
    done += capacity - stream_.avail_out;
    was_full_ = stream_.avail_out == 0 && result != Z_STREAM_END;
    if (result == Z_STREAM_END) {
      is_between_members_ = true;
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      fail(stream_.msg != nullptr ? stream_.msg : "zlib gave up");
    }
  }
  return done;
}

void InflateInput::refill() {
  stream_.next_in = reinterpret_cast<Bytef*>(compressed_.data());
  stream_.avail_in = static_cast<uInt>(read_compressed_(compressed_));
}

// A gzip member may be followed by another one, and by zero padding, which gzip also skips.
void InflateInput::begin_member() {
  is_between_members_ = false;
  while (true) {
    if (stream_.avail_in == 0) refill();
    if (stream_.avail_in == 0) break;
    if (*stream_.next_in != 0) {
      inflateReset(&stream_);
      return;
    }
    ++stream_.next_in;
    --stream_.avail_in;
  }
  ended_ = true;
}

void InflateInput::fail(const char* reason) const {
  throw Error(fmt::format("{}: the compressed data is damaged or incomplete ({}); get the file again", name(), reason));
}

}  // namespace mirrortrain::data
