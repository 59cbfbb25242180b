#pragma once

#include <zlib.h>

#include <string>

namespace mirrortrain::testing {

constexpr int kZlibWindow = 15, kGzipWindow = 15 + 16;

inline std::string gzipped(const std::string& text, int window = kGzipWindow) {
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY);
  std::string to(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(to.data());
  stream.avail_out = static_cast<uInt>(to.size());
  deflate(&stream, Z_FINISH);
  to.resize(to.size() - stream.avail_out);
  deflateEnd(&stream);
  return to;
}

}  // namespace mirrortrain::testing
