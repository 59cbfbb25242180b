#include "data/files/zstd.h"

#include <fmt/format.h>
#include <zstd.h>

#include <limits>
#include <utility>
#include <vector>

#include "base/error.h"

namespace mirrortrain::data {
namespace {

class ZstdInput : public Input {
 public:
  ZstdInput(std::string name, InflateInput::ReadCompressed read_compressed, std::uint64_t most_bytes,
            bool returns_at_once)
      : Input(std::move(name)),
        read_compressed_(std::move(read_compressed)),
        most_bytes_(most_bytes),
        returns_at_once_(returns_at_once),
        compressed_(ZSTD_DStreamInSize()),
        stream_(ZSTD_createDStream(), ZSTD_freeDStream) {
    if (!stream_) fail("not enough memory");
    in_ = {compressed_.data(), 0, 0};
  }

  std::size_t read(std::span<std::byte> to) override {
    ZSTD_outBuffer out{to.data(), to.size(), 0};
    while (out.pos < out.size) {
      const bool may_hold_more = is_in_frame_ && in_.pos == in_.size && was_full_;
      if (in_.pos == in_.size && !may_hold_more) {
        if (returns_at_once_ && out.pos > 0) break;
        in_ = {compressed_.data(), read_compressed_(compressed_), 0};
        if (in_.size == 0) {
          if (is_in_frame_) fail("it ends too early");
          break;
        }
      }
      const std::size_t left = ZSTD_decompressStream(stream_.get(), &out, &in_);
      if (ZSTD_isError(left) != 0) fail(ZSTD_getErrorName(left));
      is_in_frame_ = left != 0;
      was_full_ = out.pos == out.size;  // then the stream may hold bytes back
    }
    return out.pos;
  }
  bool is_compressed() const override { return true; }
  std::uint64_t most_bytes() const override { return most_bytes_; }

 private:
  [[noreturn]] void fail(const char* reason) const {
    throw Error(
        fmt::format("{}: the compressed data is damaged or incomplete ({}); get the file again", name(), reason));
  }

  InflateInput::ReadCompressed read_compressed_;
  std::uint64_t most_bytes_;
  bool returns_at_once_;
  std::vector<std::byte> compressed_;
  std::unique_ptr<ZSTD_DStream, std::size_t (*)(ZSTD_DStream*)> stream_;
  ZSTD_inBuffer in_{};
  bool is_in_frame_ = false, was_full_ = false;
};

}  // namespace

std::unique_ptr<Input> open_zstd(std::string name, InflateInput::ReadCompressed read_compressed,
                                 std::uint64_t compressed_bytes, bool returns_at_once) {
  // A block of three bytes and one that repeats is for at most 128 KiB.
  constexpr std::uint64_t kMostOfByte = std::uint64_t{1} << 15, kMost = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t most = compressed_bytes > kMost / kMostOfByte ? kMost : compressed_bytes * kMostOfByte + 1024;
  return std::make_unique<ZstdInput>(std::move(name), std::move(read_compressed), most, returns_at_once);
}

}  // namespace mirrortrain::data
