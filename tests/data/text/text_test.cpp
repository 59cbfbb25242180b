#include "data/text/text.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <type_traits>
#include <vector>

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
  const Examples examples = read(Text{.files = std::vector<config::Path>{{plain}, {packed}}, .window = 4});
  CHECK(examples.inputs[0].array.shape == Shape{6, 4});
  CHECK(examples.outputs[0].array.shape == Shape{6, 4});
  CHECK(row(examples.inputs[0].array, 0) == "to b");
  CHECK(row(examples.outputs[0].array, 0) == "o be");
  CHECK(row(examples.inputs[0].array, 3) ==
        " to ");  // no window begins at the 17th of 19 bytes: 4 and one more are not left
  CHECK(row(examples.outputs[0].array, 3) == "to b");
  CHECK(row(examples.inputs[0].array, 4) == "and ");  // none crosses from file to file
  CHECK(row(examples.outputs[0].array, 5) == "o on");
}

TEST_CASE("a text of one window and one byte gives one example; a shorter one is refused") {
  const TemporaryFolder folder;
  const config::Path text{folder.write("a.txt", "12345")};
  CHECK(row(read(Text{.files = text, .window = 4}).outputs[0].array, 0) == "2345");
  CHECK(contains(error_text([&] { read(Text{.files = text, .window = 5}); }),
                 "a.txt: expected at least 6 bytes, a window of 5 and one more, found 5"));
  CHECK(contains(error_text([&] { read(Text{.files = config::Path{folder.write("empty", "")}, .window = 1}); }),
                 "found 0"));
}

TEST_CASE("texts longer than what is read at once are read whole") {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < (5 << 18) + 3; ++i) text += static_cast<char>(i % 251);
  const Examples examples = read(Text{.files = config::Path{folder.write("long.txt", text)}, .window = 1000});
  CHECK(examples.inputs[0].array.rows() == std::ssize(text) / 1000);
  CHECK(row(examples.inputs[0].array, 1100) == text.substr(1100000, 1000));
  CHECK(row(examples.outputs[0].array, 1100) == text.substr(1100001, 1000));
}

std::vector<int> numbers(const Array& array, std::int64_t row) {
  return with_element_type(array.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const auto all = array.span<T>().subspan(static_cast<std::size_t>(row * array.row_elements()));
    std::vector<int> of_row;
    for (const T number : all.first(static_cast<std::size_t>(array.row_elements())))
      of_row.push_back(static_cast<int>(number));
    return of_row;
  });
}

TEST_CASE("a stride lets windows overlap, and every one has a token behind it") {
  const TemporaryFolder folder;
  const config::Path text{folder.write("a.txt", "0123456789")};
  const Examples examples = read(Text{.files = text, .window = 4, .stride = 2});
  REQUIRE(examples.inputs[0].array.shape == Shape{3, 4});
  CHECK(row(examples.inputs[0].array, 1) == "2345");
  CHECK(row(examples.outputs[0].array, 2) == "5678");
  CHECK(read(Text{.files = text, .window = 4, .stride = 1}).inputs[0].array.rows() == 6);
  CHECK(read(Text{.files = text, .window = 4, .stride = 7}).inputs[0].array.rows() == 1);
}

TEST_CASE("a vocabulary cuts texts into its longest tokens, numbered as they are listed") {
  const TemporaryFolder folder;
  const config::Path text{folder.write("a.txt", "the then\nh\xc3\xa9")},
      vocabulary{folder.write("tokens.json", R"(["the", " ", "then", "\n", "h", "t", "\u00e9"])")};
  const TokenWindows windows = read_windows({.files = text, .window = 5, .vocabulary = vocabulary});
  CHECK(windows.tokens == std::vector<std::string>{"the", " ", "then", "\n", "h", "t", "\xc3\xa9"});
  CHECK(windows.examples.inputs[0].array.dtype == DType::kUint8);
  CHECK(numbers(windows.examples.inputs[0].array, 0) == std::vector{0, 1, 2, 3, 4});
  CHECK(numbers(windows.examples.outputs[0].array, 0) == std::vector{1, 2, 3, 4, 6});
}

TEST_CASE("a vocabulary in lines may have more tokens than a byte has values") {
  const TemporaryFolder folder;
  std::string lines;
  for (int i = 0; i < 300; ++i) lines += fmt::format("<{}>\r\n", i);
  const config::Path text{folder.write("a.txt", "<299><7><256>")}, vocabulary{folder.write("tokens.txt", lines)};
  const Examples examples = read({.files = text, .window = 2, .vocabulary = vocabulary});
  CHECK(examples.inputs[0].array.dtype == DType::kInt32);
  CHECK(numbers(examples.inputs[0].array, 0) == std::vector{299, 7});
  CHECK(numbers(examples.outputs[0].array, 0) == std::vector{7, 256});
}

TEST_CASE("text beyond the vocabulary and broken vocabularies are refused by file, line and column") {
  const TemporaryFolder folder;
  const config::Path text{folder.write("a.txt", "aab\nab?\n")};
  const auto refusal = [&](const std::string& name, const std::string& content) {
    const config::Path vocabulary{folder.write(name, content)};
    return error_text([&] { read(Text{.files = text, .window = 2, .vocabulary = vocabulary}); });
  };
  CHECK(contains(refusal("v.json", R"(["a", "b", "\n"])"), "a.txt:2:3: expected a token of the vocabulary"));
  CHECK(contains(refusal("v.json", R"(["a", "b", "\n"])"), "v.json, found '?\\n'; add it"));
  CHECK(contains(refusal("v.json", R"({"a": 0})"), "v.json: expected a JSON list of strings"));
  CHECK(contains(refusal("v.json", "[]"), "expected at least one token"));
  CHECK(contains(refusal("v.txt", "a\nb\na\n"), "'a' is listed twice, as 0 and 2"));
  CHECK(
      contains(refusal("v.txt", "a\nb\xe4\n"), "token 1 (counting from 0), 'b\\xe4', is not UTF-8; save the file as"));
  CHECK(contains(refusal("v.txt", "a\n\nb\n"), "token 1 (counting from 0) is empty"));
  const config::Path whole{folder.write("v.json", R"(["aab\n", "ab?\n"])")};
  CHECK(contains(error_text([&] { read(Text{.files = text, .window = 2, .vocabulary = whole}); }),
                 "a.txt: expected at least 3 tokens, a window of 2 and one more, found 2"));
}

}  // namespace
}  // namespace mirrortrain::data
