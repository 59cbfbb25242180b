#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "base/bfloat16.h"
#include "base/philox.h"
#include "base/shape.h"
#include "base/spread.h"

using mirrortrain::bfloat16;
using mirrortrain::Philox;
using mirrortrain::Shape;
using mirrortrain::Spread;

namespace {

void check_words(const Philox::Words& words, std::uint32_t w0, std::uint32_t w1, std::uint32_t w2, std::uint32_t w3) {
  CHECK(words.word[0] == w0);
  CHECK(words.word[1] == w1);
  CHECK(words.word[2] == w2);
  CHECK(words.word[3] == w3);
}

}  // namespace

TEST_CASE("a shape's text is short however many dimensions it has") {
  CHECK(Shape{}.text() == "[]");
  CHECK(Shape{28, 28, 1}.text() == "[28, 28, 1]");
  CHECK(Shape(std::vector<std::int64_t>(255, 7)).text() == "[7, 7, 7, 7, 7, 7, 7, 7, ...] (255 dimensions)");
}

TEST_CASE("philox gives the known answers of its authors' Random123") {
  check_words(Philox{0, 0}(0, 0, 0, 0), 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8);
  const std::uint32_t ones = 0xffffffff;
  check_words(Philox{ones, ones}(ones, ones, ones, ones), 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd);
  check_words(Philox::with_key(0x299f31d0a4093822)(0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344), 0xd16cfe09,
              0x94fdcceb, 0x5001e420, 0x24126ea1);
}

TEST_CASE("the deviation of large numbers has the digits in which they differ") {
  Spread spread;
  for (int i = 0; i < 1000; ++i) spread.add(1.7e9 + 0.01 * i);
  CHECK(spread.mean() == doctest::Approx(1.7e9 + 4.995).epsilon(1e-15));
  CHECK(spread.deviation() == doctest::Approx(std::sqrt((1e6 - 1) / 12) / 100).epsilon(1e-6));
}

TEST_CASE("uniform numbers from bits lie in [0, 1)") {
  CHECK(mirrortrain::uniform_from_bits(0) == 0.0f);
  CHECK(mirrortrain::uniform_from_bits(0x80000000) == 0.5f);
  CHECK(mirrortrain::uniform_from_bits(0xffffffff) < 1.0f);
}

TEST_CASE("bfloat16 rounds to nearest, ties to even") {
  CHECK(float{bfloat16(1.0f)} == 1.0f);
  CHECK(float{bfloat16(1.0f + 1.0f / 256)} == 1.0f);              // halfway, down to the even one
  CHECK(float{bfloat16(1.0f + 3.0f / 256)} == 1.0f + 1.0f / 64);  // halfway, up to the even one
  CHECK(float{bfloat16(1.0f + 1.5f / 256)} == 1.0f + 1.0f / 128);
  CHECK(float{bfloat16(-1.0f - 1.5f / 256)} == -1.0f - 1.0f / 128);
}

TEST_CASE("bfloat16 keeps NaN and infinity, and overflows to infinity") {
  CHECK(std::isnan(float{bfloat16(std::numeric_limits<float>::quiet_NaN())}));
  CHECK(std::isnan(float{bfloat16(std::bit_cast<float>(0x7f800001u))}));  // the payload is lost, the NaN is not
  CHECK(std::isinf(float{bfloat16(std::numeric_limits<float>::infinity())}));
  CHECK(std::isinf(float{bfloat16(std::numeric_limits<float>::max())}));
}

TEST_CASE("a shape counts its elements and takes rows in front") {
  CHECK(Shape{}.elements() == 1);
  CHECK(Shape{28, 28, 1}.elements() == 784);
  CHECK(Shape{3, 0}.elements() == 0);
  CHECK(Shape{28, 28}.with_rows(5) == Shape{5, 28, 28});
  CHECK(Shape{28, 28, 1}.text() == "[28, 28, 1]");
  CHECK(Shape{}.text() == "[]");
}
