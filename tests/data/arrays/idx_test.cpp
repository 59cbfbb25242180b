#include "data/arrays/idx.h"

#include <doctest/doctest.h>

#include "data/files.h"

namespace mirrortrain::data {
namespace {

template <class T>
std::vector<T> elements(const Array& array) {
  REQUIRE(array.dtype == kDTypeOf<T>);
  const auto span = array.span<T>();
  return {span.begin(), span.end()};
}

TEST_CASE("idx files are read plain and gzipped, uint8 staying uint8") {
  const TemporaryFolder folder;
  const std::string content = idx(8, {2, 1, 3}, std::string("\1\2\3\xfd\xfe\xff"));
  for (const std::string& file : {content, gzip(content)}) {
    const Array array = read_idx(folder.write("a", file));
    CHECK(array.shape == Shape{2, 1, 3});
    CHECK(elements<std::uint8_t>(array) == std::vector<std::uint8_t>{1, 2, 3, 253, 254, 255});
  }
}

TEST_CASE("idx elements of every type are read big-endian") {
  const TemporaryFolder folder;
  const auto read = [&](int type, std::string_view bytes) {
    return read_idx(folder.write("a", idx(type, {2}, bytes)));
  };
  CHECK(elements<std::int32_t>(read(9, "\xff\x05")) == std::vector<std::int32_t>{-1, 5});
  CHECK(elements<std::int32_t>(read(11, std::string("\xff\xfe\1\0", 4))) == std::vector<std::int32_t>{-2, 256});
  CHECK(elements<std::int32_t>(read(12, big_endian(0xffffffff) + big_endian(70000))) ==
        std::vector<std::int32_t>{-1, 70000});
  CHECK(elements<float>(read(13, big_endian(0x3fc00000) + big_endian(0xc0000000))) == std::vector<float>{1.5f, -2.0f});
  CHECK(elements<double>(read(14, big_endian(0x3ff80000) + big_endian(0) + big_endian(0xc0000000) + big_endian(0))) ==
        std::vector<double>{1.5, -2.0});
}

TEST_CASE("more elements than one block of conversion come out in order") {
  const TemporaryFolder folder;
  constexpr std::uint32_t kCount = 150'000;
  std::string bytes;
  for (std::uint32_t i = 0; i < kCount; ++i) bytes += big_endian(i);
  const Array array = read_idx(folder.write("a", gzip(idx(12, {kCount}, bytes))));
  std::int64_t wrong = 0;
  for (std::uint32_t i = 0; i < kCount; ++i) wrong += array.span<std::int32_t>()[i] != static_cast<std::int32_t>(i);
  CHECK(wrong == 0);
}

TEST_CASE("gzip files may have several members and be padded with zeros") {
  const TemporaryFolder folder;
  const std::string content = idx(8, {4}, "abcd");
  const std::string file = gzip(content.substr(0, 9)) + gzip(content.substr(9)) + std::string(512, '\0');
  CHECK(read_idx(folder.write("a", file)).shape == Shape{4});
}

TEST_CASE("broken idx files are refused with the file's name and what is wrong") {
  const TemporaryFolder folder;
  const auto error = [&](std::string_view content) {
    const std::string path = folder.write("broken.idx", content);
    const std::string message = error_text([&] { read_idx(path); });
    CHECK(contains(message, path));
    return message;
  };
  const std::string good = idx(8, {3}, "abc");
  CHECK(contains(error(""), "expected 4 bytes of the header, found 0"));
  CHECK(contains(error(good.substr(0, 6)), "truncated"));
  CHECK(contains(error("<html>not found</html>"), "expected an IDX file"));
  CHECK(contains(error(idx(10, {3}, "abc")), "expected an IDX file"));
  CHECK(contains(error(idx(8, {}, "")), "expected an IDX file"));
  CHECK(contains(error(idx(8, {30}, "abc")), "announces 30 bytes"));
  CHECK(contains(error(good + "d"), "more bytes after the data"));
  CHECK(contains(error(gzip(good + "d")), "more bytes after the data"));
  CHECK(contains(error(gzip(idx(8, {30}, "abc"))), "truncated: expected 30 bytes"));
  CHECK(contains(error(gzip(good).substr(0, 20)), "damaged or incomplete"));
  CHECK(contains(error(gzip(good) + "junk"), "damaged or incomplete"));
  std::string flipped = gzip(good);
  flipped[flipped.size() - 6] ^= 1;  // the checksum
  CHECK(contains(error(flipped), "damaged or incomplete"));
}

TEST_CASE("a header that announces more than the file can hold allocates nothing") {
  const TemporaryFolder folder;
  const auto error = [&](std::string_view content) {
    return error_text([&] { read_idx(folder.write("huge.idx", content)); });
  };
  CHECK(contains(error(idx(8, {0xffffffff, 16}, "abc")), "announces 68719476720 bytes"));
  CHECK(contains(error(gzip(idx(8, {0xffffffff, 16}, "abc"))), "announces 68719476720 bytes"));
  CHECK(contains(error(idx(8, {0xffffffff, 0xffffffff, 0xffffffff}, "")), "larger than any memory"));
  const std::string dimensions = error(idx(8, std::vector<std::uint32_t>(255, 0xffffffff), ""));
  CHECK(contains(dimensions, "larger than any memory"));
  CHECK(contains(dimensions, "(255 dimensions)"));
  CHECK(dimensions.size() < 400);
  CHECK(error(idx(8, std::vector<std::uint32_t>(255, 1), "")).size() < 400);
}

TEST_CASE("whether a file is gzip is told by its content") {
  const TemporaryFolder folder;
  const std::string content = idx(8, {3}, "abc");
  CHECK(read_idx(folder.write("plain.gz", content)).rows() == 3);
  CHECK(read_idx(folder.write("packed.idx", gzip(content))).rows() == 3);
  const auto error = [&](std::string_view name, std::string_view file) {
    return error_text([&] { read_idx(folder.write(name, file)); });
  };
  const std::string note = "in spite of its name the file is not gzip";
  CHECK(contains(error("a.gz", "<html>not found</html>"), note));
  CHECK(contains(error("a.gz", "\x1f\x8b and what is no gzip either"), note));
  CHECK_FALSE(contains(error("a.gz", gzip("<html>not found</html>")), note));
  CHECK_FALSE(contains(error("a.idx", "<html>not found</html>"), note));
  CHECK(contains(error("a.gz", gzip(content).substr(0, 2)), "damaged or incomplete"));
}

TEST_CASE("what is not a regular file is refused, and does not wait indefinitely") {
  const TemporaryFolder folder;
  CHECK(contains(error_text([&] { read_idx(folder.path("absent")); }), "No such file"));
  CHECK(contains(error_text([&] { read_idx(folder.path("")); }), "it is a folder"));
  CHECK(contains(error_text([&] { read_idx("/dev/zero"); }), "not a regular file"));
  const std::string pipe = folder.path("pipe");
  REQUIRE(::system(("mkfifo " + pipe).c_str()) == 0);
  CHECK(contains(error_text([&] { read_idx(pipe); }), "not a regular file"));
}

}  // namespace
}  // namespace mirrortrain::data
