#include "base/crc32c.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

namespace mirrortrain {
namespace {

std::uint32_t crc_of(std::string_view text) { return crc32c_of(std::as_bytes(std::span(text))); }

TEST_CASE("crc32c is Castagnoli's, of any number of bytes") {
  CHECK(crc_of("123456789") == 0xE3069283u);
  CHECK(crc_of("a") == 0xC1D04330u);
  CHECK(crc_of("") == 0);
  CHECK(crc_of(std::string(32, '\0')) == 0x8A9136AAu);  // RFC 3720, B.4
  CHECK(crc_of(std::string(32, '\xff')) == 0x62A8AB43u);
}

TEST_CASE("crc32c is the same with and without an instruction for it") {
  std::string text;
  for (int bytes = 0; bytes < 70; ++bytes, text += static_cast<char>(37 * bytes)) {
    CHECK(crc32c_by_tables(std::as_bytes(std::span(text))) == crc_of(text));
  }
}

}  // namespace
}  // namespace mirrortrain
