#include "data/files/inflate.h"

#include <doctest/doctest.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <string>

namespace mirrortrain::data {
namespace {

/// Equal bytes as gzip's, by codes that are known beforehand: 10 bytes of header, then 5 bytes for all of them.
std::string gzip_of_equal(std::size_t count) {
  std::string text(count, 'a'), compressed(128, '\0');
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_FIXED) == Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(text.data());
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(compressed.data());
  stream.avail_out = static_cast<uInt>(compressed.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  compressed.resize(compressed.size() - stream.avail_out);
  deflateEnd(&stream);
  return compressed;
}

TEST_CASE("what zlib holds back where the memory was full is had before more is read") {
  constexpr std::size_t kCount = 259, kBytesOfAll = 10 + 5;
  const std::string compressed = gzip_of_equal(kCount);
  std::size_t passed = 0;
  InflateInput input(
      "pipe",
      [&](std::span<std::byte> to) {
        const std::size_t bytes = passed == 0 ? kBytesOfAll : compressed.size() - passed;
        std::copy_n(reinterpret_cast<const std::byte*>(compressed.data()) + passed, bytes, to.data());
        passed += bytes;
        return bytes;
      },
      kCount);
  input.return_at_once();
  std::array<std::byte, 10> some;
  std::size_t count = 0;
  while (count < kCount && passed <= kBytesOfAll) count += input.read(some);
  CHECK(count == kCount);
  CHECK(passed == kBytesOfAll);  // the pipe would have nothing yet
  CHECK(input.read(some) == 0);
}

}  // namespace
}  // namespace mirrortrain::data
