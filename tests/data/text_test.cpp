#include "data/text.h"

#include <doctest/doctest.h>

#include <string>

#include "data/files.h"
#include "error_text.h"

namespace mirrortrain::data {
namespace {

/// A row's bytes as the text that they are.
std::string row(const Array& array, std::int64_t index) {
  const auto bytes = array.span<std::uint8_t>();
  const auto length = static_cast<std::size_t>(array.row_elements());
  const auto first = bytes.begin() + index * static_cast<std::int64_t>(length);
  return {first, first + static_cast<std::int64_t>(length)};
}

TEST_CASE("a text is cut into windows, and their labels are the bytes behind them") {
  const TemporaryFolder folder;
  const std::string plain = folder.write("a.txt", "to be or not to be\xff"),
                    packed = folder.write("b.txt", gzip("and so on"));
  const Examples examples = read(Text{std::vector<config::Path>{{plain}, {packed}}, 4});
  CHECK(examples.features.shape == Shape{6, 4});
  CHECK(examples.labels.shape == Shape{6, 4});
  CHECK(row(examples.features, 0) == "to b");
  CHECK(row(examples.labels, 0) == "o be");
  CHECK(row(examples.features, 3) == " to ");  // no window begins at the 17th of 19 bytes: 4 and one more are not left
  CHECK(row(examples.labels, 3) == "to b");
  CHECK(row(examples.features, 4) == "and ");  // none crosses from file to file
  CHECK(row(examples.labels, 5) == "o on");
}

TEST_CASE("a text of one window and one byte gives one example; a shorter one is refused") {
  const TemporaryFolder folder;
  const config::Path text{folder.write("a.txt", "12345")};
  CHECK(row(read(Text{text, 4}).labels, 0) == "2345");
  CHECK(contains(error_text([&] {
                   read(Text{text, 5});
                 }),
                 "a.txt: expected at least 6 bytes, a window of 5 and one more, found 5"));
  CHECK(contains(error_text([&] { read(Text{config::Path{folder.write("empty", "")}, 1}); }), "found 0"));
}

TEST_CASE("texts longer than what is read at once are read whole") {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < (5 << 18) + 3; ++i) text += static_cast<char>(i % 251);
  const Examples examples = read(Text{config::Path{folder.write("long.txt", text)}, 1000});
  CHECK(examples.features.rows() == std::ssize(text) / 1000);
  CHECK(row(examples.features, 1100) == text.substr(1100000, 1000));
  CHECK(row(examples.labels, 1100) == text.substr(1100001, 1000));
}

}  // namespace
}  // namespace mirrortrain::data
