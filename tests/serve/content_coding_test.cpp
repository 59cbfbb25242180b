// Bodies of requests that are compressed.
#include "serve/http/content_coding.h"

#include <doctest/doctest.h>
#include <zlib.h>

#include <string>

#include "serve/gzip.h"
#include "serve/http/refused.h"

namespace mirrortrain::testing {
namespace {

int status_of(const std::string& body, std::size_t most) {
  try {
    inflated(body, most);
  } catch (const Refused& refused) {
    return refused.status();
  }
  return 200;
}

TEST_CASE("gzip's and zlib's bytes are inflated") {
  for (const std::size_t bytes : {0u, 1u, 5000000u}) {
    std::string text(bytes, ' ');
    for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * i >> 7);
    CHECK(inflated(gzipped(text), text.size()) == text);
    CHECK(inflated(gzipped(text, kZlibWindow), text.size()) == text);
    if (bytes > 0) CHECK(status_of(gzipped(text), bytes - 1) == 413);
  }
}

TEST_CASE("a small body that becomes a large one is refused before it has") {
  const std::string body = gzipped(std::string(50000000, 'a'));
  CHECK(body.size() < 500000);
  CHECK(status_of(body, 100000) == 413);
}

TEST_CASE("every damage to a compressed body is found") {
  const std::string body = gzipped("a request of some length, a request of some length");
  for (std::size_t i = 0; i < body.size(); ++i) CHECK(status_of(body.substr(0, i), 1000) == 400);
  CHECK(status_of(body + "x", 1000) == 400);
  // Behind the header, whose time and name say nothing; the last byte before the checksum may be half empty.
  for (std::size_t i = 10; i < body.size(); ++i) {
    if (i == body.size() - 9) continue;
    std::string damaged = body;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    CHECK(status_of(damaged, 1000) == 400);
  }
}

TEST_CASE("codings that are not understood are refused") {
  CHECK(content_coding_of("") == ContentCoding::kIdentity);
  CHECK(content_coding_of("GZip") == ContentCoding::kZlib);
  CHECK_THROWS_WITH_AS(content_coding_of("br"), "expected Content-Encoding: gzip, deflate or none, found br", Refused);
}

}  // namespace
}  // namespace mirrortrain::testing
