#include "data/records/tfrecord.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <span>

#include "base/crc32c.h"
#include "base/files.h"
#include "base/process_memory.h"
#include "data/files.h"
#include "data/loading/load.h"

namespace mirrortrain::data {
namespace {

// Written by TensorFlow: tools/reference/tfrecords.py.
const std::string kFolder = (std::filesystem::path(MIRRORTRAIN_SOURCE_DIR) / "tests/tfrecords").string();

TfRecord records(std::vector<std::pair<std::string, RecordValues>> features, std::string files = "*.tfrecord*") {
  TfRecord source;
  source.files = config::Path{kFolder + "/" + files};
  source.features.entries = std::move(features);
  return source;
}

TfRecord with_labels(TfRecord source, std::string labels) {
  source.labels.one = std::move(labels);
  return source;
}

template <class T>
std::vector<double> numbers(const Array& array) {
  const auto span = array.span<T>();
  return {span.begin(), span.end()};
}

TEST_CASE("features of bytes, floats and integers are read, file after file, gzip or not") {
  const Examples raw = read(records({{"raw", {{2, 3}, {}}}}));
  CHECK(raw.inputs[0].array.shape == Shape{5, 2, 3});
  CHECK(raw.inputs[0].array.dtype == DType::kUint8);
  CHECK(raw.inputs[0].array.span<std::uint8_t>()[4 * 6 + 5] == 9);
  CHECK(raw.outputs[0].array.shape == Shape{5});
  CHECK(numbers<std::int64_t>(raw.outputs[0].array) == std::vector<double>{0, 1, 2, 0, 1});
  CHECK(raw.inputs[0].array.row_text(3) == kFolder + "/b.tfrecord.gz: row 0 (counting from 0)");

  const std::vector<double> halves{0, 0, 0, 1, -1, 0.5, 2, -2, 1, 3, -3, 1.5, 4, -4, 2};
  CHECK(numbers<float>(read(records({{"floats", {{3}, {}}}})).inputs[0].array) == halves);
  CHECK(numbers<float>(read(records({{"raw32", {{3}, DType::kFloat32}}})).inputs[0].array) == halves);
  const Examples integers = read(with_labels(records({{"integers", {{2}, {}}}}), "floats"));
  CHECK(numbers<std::int64_t>(integers.inputs[0].array) == std::vector<double>{0, 0, 1, -1, 2, -2, 3, -3, 4, -4});
  CHECK(numbers<float>(integers.outputs[0].array) == halves);
  CHECK(integers.outputs[0].array.shape == Shape{5, 3});
}

TEST_CASE("several features are put side by side as they are listed") {
  const Examples examples = read(records({{"integers", {{2}, {}}}, {"floats", {{3}, {}}}}, "a.tfrecord"));
  const Array& features = examples.inputs[0].array;
  CHECK(features.shape == Shape{3, 5});
  CHECK(numbers<float>(features) == std::vector<double>{0, 0, 0, 0, 0, 1, -1, 1, -1, 0.5, 2, -2, 2, -2, 1});
}

TEST_CASE("encoded pictures are decoded when they are asked for, from plain and compressed files") {
  TfRecord source = records({});
  source.image = "picture";
  source.color = PictureColor::kGray;
  const Examples examples = read(source);
  CHECK(examples.inputs[0].array.shape == Shape{5, 2, 3, 1});
  REQUIRE(examples.inputs[0].source != nullptr);
  for (std::int64_t row = 0; row < 5; ++row) {
    std::vector<float> pixels(6);
    examples.inputs[0].source->read(row, pixels);
    CHECK(pixels == std::vector<float>(6, static_cast<float>(40 * row)));
  }
  CHECK(examples.inputs[0].source->row_text(3) == kFolder + "/b.tfrecord.gz: record 0 (counting from 0)");
  source.image_size = {4, 4};
  CHECK(read(source).inputs[0].array.shape == Shape{5, 4, 4, 1});
}

TEST_CASE("features go to inputs and outputs by name, numbers and pictures side by side") {
  TfRecord source = records({});
  source.inputs.entries = {{"integers", {.shape = {{2}}, .dtype = DType::kInt64}},
                           {"look", {.image = "picture", .color = PictureColor::kGray}},
                           {"large", {.image = "picture", .image_size = {{4, 4}}}}};
  source.color = PictureColor::kRgb;
  source.labels = {{}, {{{"class", "label"}, {"halves", "floats"}}}};
  const Examples examples = read(source);
  REQUIRE(examples.inputs.size() == 3);
  CHECK(examples.inputs[0].name == "integers");
  CHECK(numbers<std::int64_t>(examples.inputs[0].array) == std::vector<double>{0, 0, 1, -1, 2, -2, 3, -3, 4, -4});
  CHECK(examples.inputs[1].array.shape == Shape{5, 2, 3, 1});
  CHECK(examples.inputs[2].array.shape == Shape{5, 4, 4, 3});
  std::vector<float> pixels(6);
  examples.inputs[1].source->read(4, pixels);
  CHECK(pixels == std::vector<float>(6, 160.0f));
  REQUIRE(examples.outputs.size() == 2);
  CHECK(examples.outputs[1].name == "halves");
  CHECK(numbers<std::int64_t>(examples.outputs[0].array) == std::vector<double>{0, 1, 2, 0, 1});
  CHECK(examples.outputs[1].array.shape == Shape{5, 3});
  CHECK(read_without_labels(source).inputs.size() == 3);

  source.inputs.entries = {{"integer", {.shape = {{2}}}}};
  CHECK(
      contains(error_text([&] { read(source); }), "did you mean 'integers'?; an input of numbers has the feature of "));
  source.inputs.entries = {{"integers", {.shape = {{2}}}}};
  source.labels.named.entries[1].second = "float";
  CHECK(contains(error_text([&] { read(source); }), "say in 'labels.halves' which one to take"));
}

TEST_CASE("new data need no labels") {
  const Examples examples = read_without_labels(with_labels(records({{"floats", {{3}, {}}}}), "none"));
  CHECK(examples.inputs[0].array.shape == Shape{5, 3});
  CHECK(examples.outputs[0].array.rows() == 5);
}

TEST_CASE("what a record lacks or has otherwise is told with file, record and remedy") {
  const auto error = [](const TfRecord& source) {
    const std::string text = error_text([&] { read(source); });
    CHECK_MESSAGE(contains(text, kFolder + "/a.tfrecord: record 0 (counting from 0) "), text);
    return text;
  };
  CHECK(contains(error(records({{"rav", {{6}, {}}}})),
                 "has no feature 'rav', but [empty, floats, integers, label, name, picture, raw, raw32]; did you mean "
                 "'raw'?; say in 'features'"));
  CHECK(contains(error(records({{"empty", {{6}, {}}}})), "has no feature 'empty'"));
  CHECK(contains(error(records({{"raw", {{7}, {}}}})),
                 "has 6 bytes' numbers as 'raw' of type uint8, expected 7 for the "
                 "shape [7]"));
  CHECK(contains(error(records({{"floats", {{}, {}}}})), "has 3 numbers as 'floats' of type float32, expected 1"));
  CHECK(contains(error(records({{"floats", {{3}, DType::kUint8}}})),
                 "which are float32, expected uint8; remove the dtype"));
  CHECK(contains(error(with_labels(records({{"raw", {{6}, {}}}}), "name")), "has bytes as 'name', expected numbers"));
  TfRecord picture = records({});
  picture.image = "label";
  CHECK(contains(error(picture), "has no bytes as 'label', expected one encoded picture"));
}

TEST_CASE("damaged files are refused, and every flipped bit is found") {
  const TemporaryFolder folder;
  const std::string good = read_text_file(kFolder + "/a.tfrecord");
  const auto error = [&](std::string_view content) {
    TfRecord source = records({{"floats", {{3}, {}}}});
    source.files = config::Path{folder.write("broken.tfrecord", content)};
    return error_text([&] { read(source); });
  };
  CHECK(contains(error("no records at all"),
                 "record 0 (counting from 0) does not match its checksum of the length; "
                 "expected a TFRecord file"));
  CHECK(contains(error(""), "expected at least one record, found none"));
  CHECK(contains(error(good.substr(0, good.size() - 5)), "record 2 (counting from 0) is truncated"));
  for (std::size_t bit = 0; bit < 8 * good.size(); bit += 37) {
    std::string flipped = good;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    CHECK(contains(error(flipped), "checksum"));
  }
}

/// A record with right checksums.
std::string record(std::string_view payload) {
  const auto checksum = [](std::string_view bytes) {
    return little_endian(masked_crc32c_of(std::as_bytes(std::span(bytes))), 4);
  };
  const std::string length = little_endian(payload.size(), 8);
  return length + checksum(length) + std::string(payload) + checksum(payload);
}

std::string field(int number, std::string_view content) {
  return std::string(1, static_cast<char>(number << 3 | 2)) + static_cast<char>(content.size()) + std::string(content);
}
/// A record of an Example of two features, x (bytes) and y (integers below 128).
std::string example(std::string_view x, std::string_view y) {
  const auto entry = [](std::string_view name, int kind, std::string_view values) {
    return field(1, field(1, name) + field(2, field(kind, field(1, values))));
  };
  return record(field(1, entry("x", 1, x) + entry("y", 3, y)));
}

TEST_CASE("bad records are left out where they are gathered, and the others are what they would be without them") {
  const TemporaryFolder folder;
  std::string damaged = example("ij", "\x05");
  damaged[damaged.size() - 6] ^= 1;
  TfRecord source = records({{"x", {{2}, {}}}});
  source.labels.one = "y";
  const std::string first = folder.write("a", example("abc", "\x01") + example("ab", "\x02") +
                                                  example("cd", "\x01\x02") + record("\x0b") + example("ef", "\x03"));
  const std::string second = folder.write("b", damaged + example("gh", "\x04"));
  source.files = std::vector<config::Path>{{first}, {second}};
  CHECK(contains(error_text([&] { read(source); }), "a: record 0 (counting from 0) has 3 bytes' numbers"));
  BadExamples bad(OnBadExample::kSkip);
  const Examples examples = read(source, &bad);
  CHECK(numbers<std::uint8_t>(examples.inputs[0].array) == std::vector<double>{'a', 'b', 'e', 'f', 'g', 'h'});
  CHECK(numbers<std::int64_t>(examples.outputs[0].array) == std::vector<double>{2, 3, 4});
  CHECK(examples.inputs[0].array.row_text(1) == first + ": row 4 (counting from 0)");
  CHECK(examples.inputs[0].array.row_text(2) == second + ": row 1 (counting from 0)");
  const LeftOut left = std::move(bad).left_out(3, "records");
  CHECK(left.rows == std::vector<std::int64_t>{0, 2, 3, 5});
  CHECK(left.examples == 7);
  CHECK(contains(left.reasons[1], "record 2 (counting from 0) has 2 numbers as 'y'"));
  CHECK(contains(left.reasons[2], "record 3 (counting from 0) is no tf.train.Example"));
  CHECK(contains(left.reasons[3], "b: record 0 (counting from 0) does not match its checksum of the bytes"));

  source.files = config::Path{folder.write("c", example("ab", "\x02") + std::string(12, 'x'))};
  BadExamples others(OnBadExample::kSkip);  // nobody knows where the next record begins
  CHECK(contains(error_text([&] { read(source, &others); }), "record 1 (counting from 0) does not match its checksum"));
  source.files = config::Path{folder.write("d", example("abc", "\x02"))};
  CHECK(contains(error_text([&] { read(source, &others); }), "none of the 1 examples can be used"));
}

TEST_CASE("a record that claims to be larger than its compressed file can be takes no memory for it") {
  const TemporaryFolder folder;
  std::string noise;  // which does not get smaller, so that the file may have a thousand times as much
  for (std::uint32_t word = 1; noise.size() < std::size_t{1} << 20; word = word * 1664525 + 1013904223) {
    noise += little_endian(word >> 16, 2);
  }
  constexpr std::size_t kClaimed = std::size_t{1} << 30;
  const std::string length = little_endian(kClaimed, 8);
  const std::string header = length + little_endian(masked_crc32c_of(std::as_bytes(std::span(length))), 4);
  TfRecord source = records({{"floats", {{3}, {}}}});
  source.files = config::Path{folder.write("large.tfrecord.gz", gzip(header + noise))};
  const std::size_t before = memory_of_process().peak;
  CHECK(contains(error_text([&] { read(source); }),
                 "large.tfrecord.gz: record 0 (counting from 0) is truncated: expected 1073741828 bytes of the record, "
                 "found 1048576"));
  CHECK(memory_of_process().peak < before + kClaimed / 4);
}

TEST_CASE("a record that is no example is told") {
  const TemporaryFolder folder;
  TfRecord source = records({{"x", {{1}, {}}}});
  for (const std::string& payload :
       {std::string("\x0a\x7f\x0a", 3), std::string("\x0a\xff", 2), std::string("\x0b", 1)}) {
    source.files = config::Path{folder.write("odd.tfrecord", record(payload))};
    CHECK(contains(error_text([&] { read(source); }), "record 0 (counting from 0) is no tf.train.Example: "));
  }
}

}  // namespace
}  // namespace mirrortrain::data
