#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "base/error.h"
#include "config/document.h"
#include "config/example.h"

using namespace mirrortrain;

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

std::string repeated(std::string_view text, std::size_t times) {
  std::string out;
  out.reserve(text.size() * times);
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

// The first line of the errors. Reading that takes longer the more of a text is hostile ends by the test's TIMEOUT.
std::string refusal(std::string_view text) {
  const std::string errors = example::errors_of(text);
  return errors.substr(0, errors.find('\n'));
}

}  // namespace

TEST_CASE("nesting beyond 64 levels is refused in every spelling") {
  const std::string error = "nested more than 64 levels deep";
  CHECK(refusal("a: " + repeated("[", 10000) + repeated("]", 10000)) == "a.yaml:1:67: " + error);
  CHECK(refusal(repeated("{a: ", 10000)).ends_with(error));
  CHECK(refusal(repeated("- ", 10000) + "x").ends_with(error));
  CHECK(refusal(repeated("? ", 10000) + "x").ends_with(error));
  std::string block;
  for (std::size_t i = 0; i < 2000; ++i) block += std::string(i, ' ') + "a:\n";
  CHECK(refusal(block) == "a.yaml:65:65: " + error);
  CHECK(refusal(repeated("[", 8'000'000)) ==
        "a.yaml:1:1: more than 1000000 brackets; put large data in a file of its own");
}

TEST_CASE("64 levels are read, 65 refused, through aliases too") {
  const auto nested = [](std::size_t levels) { return repeated("[", levels) + repeated("]", levels); };
  CHECK(refusal("validation: {inline: {features: " + nested(61) + "}}") == "");
  CHECK(refusal("validation: {inline: {features: " + nested(62) + "}}").find("64 levels") != std::string::npos);
  CHECK(refusal("a: &a " + nested(40) + "\nb: " + repeated("[", 30) + "*a" + repeated("]", 30)).find("64 levels") !=
        std::string::npos);
}

TEST_CASE("alias bombs are refused") {
  std::string bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c < 'k'; ++c) {
    const std::string alias = std::string("*") + static_cast<char>(c - 1);
    bomb += std::string(1, c) + ": &" + c + " [" + repeated(alias + ", ", 9) + alias + "]\n";
  }
  CHECK(refusal(bomb).find("more than 1000000 values, aliases expanded") != std::string::npos);
  CHECK(refusal("a: &a " + std::string(kMiB, 'x') + "\nb: [" + repeated("*a,", 1000) + "]").find("64 MiB of text") !=
        std::string::npos);
  CHECK(refusal("a: &a [*a]") == "a.yaml:1:8: this alias is inside its own anchor");
  std::string anchors;
  for (int i = 0; i < 50; ++i) anchors += fmt::format("&a{} [", i);
  CHECK(refusal(anchors + repeated("x,", 100000) + std::string(50, ']')).find("below nested anchors") !=
        std::string::npos);
}

TEST_CASE("a million values are read, more refused") {
  const auto rows = [](std::size_t count) {
    return "validation: {inline: {features: [" + repeated("1,", count) + "]}}";
  };
  CHECK(refusal(rows(990'000)) == "");
  CHECK(refusal(rows(1'000'001)).find("more than 1000000 values") != std::string::npos);
}

TEST_CASE("files of more than 16 MiB are refused, and a text just below is read") {
  CHECK(refusal("name: " + std::string(50 * kMiB, 'x')) ==
        "a.yaml:1:1: more than 16 MiB; put large data in a file of its own");
  CHECK(refusal("name: \"" + std::string(4 * kMiB, 'x') + "\"") == "");
}

TEST_CASE("control characters that an escape writes are refused") {
  CHECK(refusal("a: \"x\\u0090y\"") == "a.yaml:1:4: the text 'x\\u0090y' holds a control character");
  CHECK(refusal("a: \"x\\ey\"") == "a.yaml:1:4: the text 'x\\x1by' holds a control character");
}

TEST_CASE("bytes that are not text are refused with their place") {
  CHECK(refusal("name: caf\xE9") == "a.yaml:1:10: the byte 0xE9 is not UTF-8; save the file as UTF-8 text");
  CHECK(refusal(std::string_view("name: x\nb: a\0b", 14)) ==
        "a.yaml:2:5: the control character U+0000 is not allowed; is this a text file?");
  CHECK(refusal("\x7f"
                "ELF")
            .find("control character U+007F") != std::string::npos);
  CHECK(refusal("name: \xC2\x9B").find("control character U+009B") != std::string::npos);
  CHECK(refusal("name: \"a\\x1b[31m\"") == "a.yaml:1:7: the text 'a\\x1b[31m' holds a control character");
  for (const char* bytes :
       {"\xC0\xAF", "\xE0\x80\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xFF\xFE", "\x80", "\xE2\x82"}) {
    CHECK(refusal(std::string("name: ") + bytes).find("is not UTF-8") != std::string::npos);
  }
  CHECK(refusal("name: \"\xE2\x82\xAC \xF0\x9F\x99\x82\"") == "");
}

TEST_CASE("a file wrong in a million places is refused soon") {
  std::string keys;
  for (int i = 0; i < 100'000; ++i) keys += fmt::format("k{}: 1\n", i);
  CHECK(refusal(keys).starts_with("a.yaml:1:1: k0: unknown key"));
  CHECK(refusal(repeated("k: 1\n", 100'000)) == "a.yaml:2:1: k: duplicate key; the first is in line 1");
  CHECK(refusal("layers: [" + repeated("1,", 300'000) + "]").starts_with("a.yaml:1:10: layers[0]: expected a layer"));
}

TEST_CASE("a file that cannot be read is a usage error that names it") {
  config::Errors errors;
  CHECK_THROWS_WITH_AS(config::load("no/such.yaml", {}, errors),
                       "no/such.yaml: cannot open the configuration: No such file or directory", UsageError);
  CHECK_THROWS_WITH_AS(config::load("/tmp", {}, errors), "/tmp: expected a configuration file, found a folder",
                       UsageError);
}

TEST_CASE("an endless file is refused after its first 16 MiB") {
  config::Errors errors;
  CHECK_THROWS_WITH_AS(config::load("/dev/zero", {}, errors),
                       "/dev/zero:1:1: more than 16 MiB; put large data in a file of its own\n1 error", UsageError);
}
