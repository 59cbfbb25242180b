#include "data/arrays/npz.h"

#include <doctest/doctest.h>

#include "data/files.h"

namespace mirrortrain::data {
namespace {

const std::string kFeatures = npy("<f4", false, "(3, 2)", bytes_of<float>({1, 2, 3, 4, 5, 6}));
const std::string kLabels = npy("|u1", false, "(3,)", std::string("\0\1\2", 3));

Npz source(std::string path, std::string features = "x", std::string labels = "y") {
  Npz npz;
  npz.file = config::Path{std::move(path)};
  npz.features = std::move(features);
  npz.labels.one = std::move(labels);
  return npz;
}

TEST_CASE("npz arrays are found by name, stored, deflated and in zip64 form") {
  const TemporaryFolder folder;
  for (const bool deflated : {false, true}) {
    for (const bool zip64 : {false, true}) {
      const std::string file =
          zip({{"other.npy", "junk"}, {"y.npy", kLabels, deflated, zip64}, {"x.npy", kFeatures, deflated, zip64}});
      const Examples examples = read(source(folder.write("a.npz", file)));
      CHECK(examples.inputs[0].array.shape == Shape{3, 2});
      CHECK(examples.inputs[0].array.span<float>()[5] == 6.0f);
      CHECK(examples.outputs[0].array.span<std::uint8_t>()[2] == 2);
      CHECK(examples.outputs[0].array.origin == folder.path("a.npz") + ": y");
    }
  }
}

TEST_CASE("a missing array is an error that lists those that are there") {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.npz", zip({{"image.npy", kFeatures}, {"y.npy", kLabels}}));
  const std::string message = error_text([&] { read(source(path, "images")); });
  CHECK(contains(message, "no array 'images' in it, but [image, y]; did you mean 'image'?"));
  std::vector<ZipFile> many;
  for (int i = 0; i < 1000; ++i) many.push_back({"array_" + std::to_string(i) + ".npy", kLabels});
  CHECK(error_text([&] { read(source(folder.write("many.npz", zip(many)))); }).size() < 500);
}

TEST_CASE("a comment after the archive is passed over") {
  const TemporaryFolder folder;
  std::string file = zip({{"x.npy", kFeatures}, {"y.npy", kLabels}});
  file[file.size() - 2] = 5;
  CHECK(read(source(folder.write("a.npz", file + "hello"))).outputs[0].array.rows() == 3);
}

TEST_CASE("broken archives are refused") {
  const TemporaryFolder folder;
  const auto error = [&](std::string_view content) {
    return error_text([&] { read(source(folder.write("broken.npz", content))); });
  };
  const std::string good = zip({{"x.npy", kFeatures}, {"y.npy", kLabels}});
  CHECK(contains(error(""), "expected a zip archive"));
  CHECK(contains(error(kFeatures), "expected a zip archive"));
  CHECK(contains(error(good.substr(0, good.size() / 2)), "expected a zip archive"));

  std::string corrupt = good;
  corrupt[corrupt.find(kFeatures) + kFeatures.size() - 2] ^= 1;
  CHECK(contains(error(corrupt), "checksum"));

  std::string directory = good;
  directory.replace(directory.size() - 6, 4, "\xf0\xff\xff\x7f", 4);
  CHECK(contains(error(directory), "directory is damaged"));

  std::string directory64 = good;
  directory64.replace(directory64.size() - 6, 4, "\xff\xff\xff\xff");
  CHECK(contains(error(directory64), "directory is damaged"));

  std::string offset = good;
  offset.replace(offset.find("PK\1\2") + 42, 4, "\xf0\xff\xff\x7f");
  CHECK(contains(error(offset), "'x.npy' is damaged: "));

  std::string squeezed = zip({{"x.npy", kFeatures, true}, {"y.npy", kLabels}});
  squeezed.replace(squeezed.find("x.npy") + 5, 8, std::string(8, '\xff'));
  CHECK(contains(error(squeezed), ": x: damaged: "));

  std::string method = good;
  method[method.find("PK\1\2") + 10] = 14;
  CHECK(contains(error(method), "compressed by method 14"));

  std::string encrypted = good;
  encrypted[encrypted.find("PK\1\2") + 8] = 1;
  CHECK(contains(error(encrypted), "encrypted"));

  std::string size = good;
  size.replace(size.find("PK\1\2") + 20, 4, "\xf0\xff\xff\x7f");
  CHECK(contains(error(size), "truncated"));
  CHECK(contains(error(zip({{"x.npy", kFeatures + "x"}, {"y.npy", kLabels}})), "more bytes after the data"));
  CHECK(contains(error(zip({{"x.npy", kFeatures}, {"y.npy", kLabels}, {"x.npy", kFeatures}})),
                 "it holds 'x.npy' more than once; write the archive anew"));
  const std::string lying = npy("<f4", false, "(1000000000, 2)", std::string(8, '\0'));
  for (const bool deflated : {false, true}) {
    CHECK(contains(error(zip({{"x.npy", lying, deflated}, {"y.npy", kLabels}})), "announces 8000000000 bytes"));
  }
}

TEST_CASE("what an archive's directory announces is checked before memory is taken for it") {
  const TemporaryFolder folder;
  const auto error = [&](std::string_view content) {
    return error_text([&] { read(source(folder.write("bomb.npz", content))); });
  };
  // One file, of which the zip64 directory says that there are 10^12.
  const std::string good = zip({{"x.npy", kFeatures}});
  const std::size_t directory = good.find("PK\1\2"), end = good.find("PK\5\6");
  const std::string many = little_endian(1'000'000'000'000, 8);
  const std::string end64 = "PK\6\6" + little_endian(44, 8) + little_endian(45, 2) + little_endian(45, 2) +
                            little_endian(0, 4) + little_endian(0, 4) + many + many +
                            little_endian(end - directory, 8) + little_endian(directory, 8);
  const std::string locator = "PK\6\7" + little_endian(0, 4) + little_endian(end, 8) + little_endian(1, 4);
  const std::string last = "PK\5\6" + std::string(4, '\0') + std::string(12, '\xff') + std::string(2, '\0');
  CHECK(contains(error(good.substr(0, end) + end64 + locator + last), "its directory is damaged"));

  // Eight bytes that are said to inflate to 2^40, as their header announces.
  const std::string huge = npy("<f4", false, "(137438953472, 2)", std::string(8, '\0'));
  std::string bomb = zip({{"x.npy", huge, true, true}, {"y.npy", kLabels}});
  const std::size_t entry = bomb.find("PK\1\2");
  bomb.replace(bomb.find(little_endian(huge.size(), 8), entry), 8, little_endian(huge.size() - 8 + (1ULL << 40), 8));
  CHECK(contains(error(bomb), "announces 1099511627776 bytes"));
}

}  // namespace
}  // namespace mirrortrain::data
