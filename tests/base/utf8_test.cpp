#include "base/utf8.h"

#include <doctest/doctest.h>

#include <string>

using namespace mirrortrain;

TEST_CASE("a character is decoded where its bytes are well formed") {
  CHECK(first_character("a").code == U'a');
  CHECK(first_character("\u00f6x").code == U'\u00f6');
  CHECK(first_character("\u7573").bytes == 3);
  CHECK(first_character("\U0001F600").code == U'\U0001F600');
  // A lone continuation, an overlong form, a surrogate, beyond the last, cut off.
  for (const std::string broken : {"", "\x80", "\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE7\x95"}) {
    CHECK(first_character(broken).bytes == 0);
  }
}

TEST_CASE("controls, spaces and marks of direction are not visible, letters of any script are") {
  for (const char32_t c : {U'\t', U' ', U'\u00a0', U'\u0085', U'\u200b', U'\u202e', U'\u2028', U'\u3000', U'\ufeff'}) {
    CHECK_FALSE(is_visible(c));
  }
  for (const char32_t c : {U'a', U'\u00df', U'\u0436', U'\u0637', U'\u0930', U'\u200d', U'\u7573', U'\U0001F600'}) {
    CHECK(is_visible(c));
  }
}

TEST_CASE("columns of a terminal are counted, not bytes") {
  CHECK(display_width("abc") == 3);
  CHECK(display_width("gr\u00f6\u00dfe") == 5);
  CHECK(display_width("o\u0308") == 1);
  CHECK(display_width("\u7573\u307f") == 4);
  CHECK(display_width("\xff") == 1);
  CHECK(padded("\u7573", 4) == "\u7573  ");
  CHECK(padded("abc", 2) == "abc");
}

TEST_CASE("texts in messages are short, on one line and cannot steer a terminal") {
  CHECK(shortened("short") == "short");
  CHECK(shortened(std::string(100, 'x')) == std::string(48, 'x') + "...");
  CHECK(shortened("\u00e4\u00f6\u00fc", 3) == "\u00e4\u00f6...");
  CHECK(shortened("a\nb\x1b\u009b\u202e\xff") == "a\\nb\\x1b\\u009b\\u202e\\xff");
  CHECK(with_escaped_controls("a\n\tb\x1b[31m\u009b\xff\u00e4\x7f") == "a\n\tb\\x1b[31m\\u009b\xff\u00e4\\x7f");
}

TEST_CASE("ASCII letters alone change their case") {
  CHECK(in_lower_case("AZ_az-09 \u00c4") == "az_az-09 \u00c4");
  CHECK(in_lower_case("").empty());
}
