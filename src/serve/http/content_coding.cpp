#include "serve/http/content_coding.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <new>

#include "base/utf8.h"
#include "serve/http/refused.h"

namespace mirrortrain {
namespace {

constexpr int kGzipOrZlib = 15 + 32;
constexpr std::size_t kMostAtOnce = std::size_t{1} << 20;

struct InflateStream {
  InflateStream() {
    if (inflateInit2(&stream, kGzipOrZlib) != Z_OK) throw std::bad_alloc();
  }
  InflateStream(const InflateStream&) = delete;
  InflateStream& operator=(const InflateStream&) = delete;
  ~InflateStream() { inflateEnd(&stream); }
  z_stream stream{};
};

}  // namespace

ContentCoding content_coding_of(std::string_view name) {
  const std::string coding = in_lower_case(name);
  if (coding.empty() || coding == "identity") return ContentCoding::kIdentity;
  if (coding == "gzip" || coding == "x-gzip" || coding == "deflate") return ContentCoding::kZlib;
  throw Refused(fmt::format("expected Content-Encoding: gzip, deflate or none, found {}", shortened(coding)), 415);
}

std::string inflated(std::string_view body, std::size_t most) {
  InflateStream inflating;
  z_stream& stream = inflating.stream;
  std::string to;
  int result = Z_OK;
  while (result != Z_STREAM_END) {
    if (stream.avail_in == 0) {
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(body.data()));
      stream.avail_in = static_cast<uInt>(std::min(body.size(), kMostAtOnce));
      body.remove_prefix(stream.avail_in);
    }
    const std::size_t before = to.size();
    to.resize(before + std::min(kMostAtOnce, most + 1 - before));
    stream.next_out = reinterpret_cast<Bytef*>(to.data() + before);
    stream.avail_out = static_cast<uInt>(to.size() - before);
    result = inflate(&stream, Z_NO_FLUSH);
    to.resize(to.size() - stream.avail_out);
    if (to.size() > most) {
      throw Refused(fmt::format("expected a body that has at most {} bytes when it is inflated, as the server's "
                                "--max-body says; send fewer examples at once",
                                most),
                    413);
    }
    const bool is_at_end = stream.avail_in == 0 && body.empty();
    if (result == Z_BUF_ERROR && is_at_end) throw Refused("the compressed body ends too early");
    if (result != Z_OK && result != Z_BUF_ERROR && result != Z_STREAM_END) {
      throw Refused(fmt::format("the compressed body is damaged ({})", stream.msg != nullptr ? stream.msg : "zlib"));
    }
  }
  if (stream.avail_in > 0 || !body.empty()) throw Refused("more bytes follow the compressed body");
  return to;
}

}  // namespace mirrortrain
