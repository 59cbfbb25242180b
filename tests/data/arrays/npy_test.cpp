#include "data/arrays/npy.h"

#include <doctest/doctest.h>

#include "data/files.h"

namespace mirrortrain::data {
namespace {

class Reader {
 public:
  Array operator()(std::string_view content) const { return read_npy(*open_input(folder_.write("a.npy", content))); }
  std::string error(std::string_view content) const {
    return error_text([&] { (*this)(content); });
  }

 private:
  TemporaryFolder folder_;
};

template <class T>
std::vector<T> elements(const Array& array) {
  REQUIRE(array.dtype == kDTypeOf<T>);
  const auto span = array.span<T>();
  return {span.begin(), span.end()};
}

TEST_CASE("npy arrays keep their type where there is one, else take the next wider") {
  const Reader read;
  CHECK(elements<float>(read(npy("<f4", false, "(2,)", bytes_of<float>({1.5f, -2})))) == std::vector<float>{1.5f, -2});
  CHECK(elements<double>(read(npy("<f8", false, "(1,)", bytes_of<double>({1e300})))) == std::vector<double>{1e300});
  CHECK(elements<float>(read(npy("<f2", false, "(4,)", bytes_of<std::uint16_t>({0x3c00, 0xc100, 0x0001, 0x7bff})))) ==
        std::vector<float>{1.0f, -2.5f, 5.9604645e-8f, 65504.0f});
  CHECK(elements<std::uint8_t>(read(npy("|b1", false, "(3,)", std::string("\0\1\2", 3)))) ==
        std::vector<std::uint8_t>{0, 1, 1});
  CHECK(elements<std::uint8_t>(read(npy("|u1", false, "(2,)", "\xff\1"))) == std::vector<std::uint8_t>{255, 1});
  CHECK(elements<std::int32_t>(read(npy("|i1", false, "(1,)", "\xff"))) == std::vector<std::int32_t>{-1});
  CHECK(elements<std::int32_t>(read(npy("<u2", false, "(1,)", "\xff\xff"))) == std::vector<std::int32_t>{65535});
  CHECK(elements<std::int64_t>(read(npy("<u4", false, "(1,)", "\xff\xff\xff\xff"))) ==
        std::vector<std::int64_t>{4294967295});
  CHECK(elements<std::int64_t>(read(npy("<i8", false, "(1,)", bytes_of<std::int64_t>({-7})))) ==
        std::vector<std::int64_t>{-7});
  CHECK(elements<std::int64_t>(read(npy("<u8", false, "(1,)", bytes_of<std::uint64_t>({7})))) ==
        std::vector<std::int64_t>{7});
}

TEST_CASE("npy arrays in big-endian and in Fortran order are brought into order") {
  const Reader read;
  CHECK(elements<std::int32_t>(read(npy(">i4", false, "(2,)", big_endian(1) + big_endian(256)))) ==
        std::vector<std::int32_t>{1, 256});
  const Array array = read(npy("|u1", true, "(2, 3)", "adbecf"));
  CHECK(array.shape == Shape{2, 3});
  CHECK(elements<std::uint8_t>(array) == std::vector<std::uint8_t>{'a', 'b', 'c', 'd', 'e', 'f'});
}

TEST_CASE("npy headers of version 2 and of Python 2 are understood") {
  const Reader read;
  std::string content = npy("|u1", false, "(1L, 2L)", "ab");
  content[6] = 2;
  content.insert(10, 2, '\0');
  CHECK(read(content).shape == Shape{1, 2});
}

TEST_CASE("npy types that are no numbers are refused by name") {
  const Reader read;
  for (const char* descr : {"<c8", "|O", "<U4", "|S3", "<M8[ns]", "<f16", "|V2", "<i3", "", "f", "<f"}) {
    CAPTURE(descr);
    const std::string message = read.error(npy(descr, false, "(1,)", std::string(64, '\0')));
    CHECK(contains(message, "expected an array of bool, integers or floats, found the type '"));
    CHECK(contains(message, descr));
  }
  std::string records = npy("<f4", false, "(1,)", std::string(4, '\0'));
  records.replace(records.find("'<f4'"), 5,
                  "[('a"
                  "',");
  CHECK(contains(read.error(records), "records with fields"));
}

TEST_CASE("broken npy files are refused") {
  const Reader read;
  const std::string good = npy("<i4", false, "(2,)", std::string(8, '\0'));
  CHECK(contains(read.error(""), "truncated"));
  CHECK(contains(read.error("PK\3\4 something else"), "numpy.save"));
  CHECK(contains(read.error(good.substr(0, 40)), "truncated"));
  CHECK(contains(read.error(good.substr(0, good.size() - 1)), "expected 8 bytes of data for the shape [2], found 7"));
  CHECK(contains(read.error(good + "x"), "more bytes after the data"));
  CHECK(contains(read.error(npy("<i4", false, "(-2,)", "")), "expected an extent"));
  CHECK(contains(read.error(npy("<i4", false, "(99999999999999999999,)", "")), "expected an extent"));
  CHECK(contains(read.error(npy("<i4", false, "(4611686018427387904, 4)", "")), "larger than any memory"));
  CHECK(contains(read.error(npy("<i4", false, "()", std::string(4, '\0'))), "a single number"));
  CHECK(contains(read.error(npy("<i4", false, "(2", std::string(8, '\0'))), "broken npy header"));
  CHECK(contains(read.error(npy("<u8", false, "(1,)", std::string(8, '\xff'))), "beyond int64"));
  std::string version = good;
  version[6] = 9;
  CHECK(contains(read.error(version), "found 9"));
  std::string without = good;
  without.replace(without.find("fortran_order"), 13, "fortran_other");
  CHECK(contains(read.error(without), "broken npy header"));
  std::string long_header = good;
  long_header[6] = 2;
  long_header[10] = long_header[11] = '\xff';
  CHECK(contains(read.error(long_header), "header claims"));
}

}  // namespace
}  // namespace mirrortrain::data
