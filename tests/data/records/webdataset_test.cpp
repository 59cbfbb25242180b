#include "data/records/webdataset.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/files.h"
#include "data/files.h"
#include "data/loading/load.h"
#include "data/pictures/picture.h"
#include "data/records/sample_classes.h"
#include "data/records/tar.h"

namespace mirrortrain::data {
namespace {

// Written by Python's tarfile: tools/reference/data_formats.py.
const std::string kFormats = (std::filesystem::path(MIRRORTRAIN_SOURCE_DIR) / "tests/formats").string();

WebDataset samples(std::vector<std::string> files) {
  WebDataset source;
  std::vector<config::Path> paths;
  for (const std::string& file : files) paths.push_back({file.starts_with('/') ? file : kFormats + "/" + file});
  source.file = std::move(paths);
  return source;
}

std::vector<double> labels_in(const Examples& examples, std::size_t output = 0) {
  const auto labels = examples.outputs[output].array.span<double>();
  return {labels.begin(), labels.end()};
}

/// A header of tar and a file behind it.
std::string entry_of_tar(const std::string& name, const std::string& content, char type = '0',
                         const std::string& size = "") {
  std::string header(512, '\0');
  header.replace(0, name.size(), name);
  header.replace(100, 7, "0000644");
  char octal[16];
  std::snprintf(octal, sizeof octal, "%011zo", content.size());
  header.replace(124, 12, (size.empty() ? std::string(octal) : size).substr(0, 11) + '\0');
  header[156] = type;
  header.replace(257, 8,
                 std::string("ustar\0"
                             "00",
                             8));
  header.replace(148, 8, "        ");
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  std::snprintf(octal, sizeof octal, "%06o", sum);
  header.replace(148, 8, std::string(octal) + '\0' + ' ');
  std::string padded = content;
  padded.resize((content.size() + 511) / 512 * 512, '\0');
  return header + padded;
}

TEST_CASE("samples are read from archives of ustar, GNU and pax, compressed or not") {
  const TemporaryFolder folder;
  const UnpackedFiles cache(folder.path("cache"));
  const Examples examples = open_samples(samples({"ustar.tar", "gnu.tar", "pax.tar.gz"}), nullptr, cache);
  CHECK(examples.inputs[0].array.shape == Shape{8, 13, 18, 3});
  CHECK(labels_in(examples) == std::vector<double>{0, 1, 2, 0, 1, 2, 0, 1});
  const std::vector<std::byte> rgb =
      read_file(std::filesystem::path(MIRRORTRAIN_SOURCE_DIR) / "tests/pictures/rgb.png");
  const Picture picture = decode_picture(rgb, 3, "rgb.png");
  const ExampleSource& source = *examples.inputs[0].source;
  for (std::int64_t row = 7; row >= 0; --row) {
    std::vector<float> pixels(picture.pixels.size());
    source.read(row, pixels);
    CHECK(pixels == std::vector<float>(picture.pixels.begin(), picture.pixels.end()));
    CHECK(source.stored_bytes(row) == rgb.size());
    CHECK_FALSE(source.fault(row).has_value());
  }
  CHECK(source.row_text(1) == kFormats + "/ustar.tar: train/0001.PNG");
  CHECK(contains(source.row_text(3), "/gnu.tar: long/long/"));
  CHECK(contains(source.row_text(6), "/pax.tar.gz: l\xc3\xa4nger/"));
  CHECK(examples.inputs[0].array.parts.size() == 3);
  CHECK(examples.inputs[0].array.parts[2].first_row == 5);
  CHECK(open_samples_without_labels(samples({"gnu.tar"}), nullptr, cache).rows() == 2);
}

TEST_CASE("inputs and outputs are endings by name") {
  const TemporaryFolder folder;
  const UnpackedFiles cache(folder.path("cache"));
  WebDataset source = samples({"several.tar"});
  source.inputs.entries = {{"a", {"left.png"}},
                           {"b", {"jpg;right.jpg", std::array<std::int64_t, 2>{4, 6}, PictureColor::kGray}}};
  source.labels = {};
  source.labels.named.entries = {{"kind", "kind"}, {"value", "VALUE"}};
  const Examples examples = open_samples(source, nullptr, cache);
  CHECK(examples.inputs[0].name == "a");
  CHECK(examples.inputs[0].array.shape == Shape{1, 13, 18, 3});
  CHECK(examples.inputs[1].array.shape == Shape{1, 4, 6, 1});
  CHECK(labels_in(examples, 0) == std::vector<double>{2});
  CHECK(labels_in(examples, 1) == std::vector<double>{0.25});
}

TEST_CASE("labels that are words are classes, which other splits have too") {
  const TemporaryFolder folder;
  const UnpackedFiles cache(folder.path("cache"));
  const std::string png = read_text_file(std::filesystem::path(MIRRORTRAIN_SOURCE_DIR) / "tests/pictures/rgb.png");
  const auto archive = [&](const char* name, const std::vector<std::string>& words) {
    std::string bytes;
    for (std::size_t i = 0; i < words.size(); ++i) {
      bytes += entry_of_tar(fmt::format("{}.png", i), png) + entry_of_tar(fmt::format("{}.cls", i), words[i]);
    }
    return samples({folder.write(name, bytes)});
  };
  const WebDataset train = archive("train.tar", {"wren\n", "crow", "wren", "7"});
  const ClassedSamples read = open_classed_samples(train, {}, nullptr, cache);
  CHECK(read.classes == std::vector<std::string>{"7", "crow", "wren"});
  CHECK(labels_in(read.examples) == std::vector<double>{2, 1, 2, 0});
  const WebDataset test = archive("test.tar", {"crow", "owl"});
  CHECK(contains(error_text([&] { open_classed_samples(test, {&read.classes}, nullptr, cache); }),
                 "sample '1' has the class 'owl' as its 'cls', which is none of the 3 of the training data"));
  BadExamples bad(OnBadExample::kSkip);
  CHECK(labels_in(open_classed_samples(test, {&read.classes}, &bad, cache).examples) == std::vector<double>{1});
  const WebDataset numbers = archive("numbers.tar", {"1", "0"});
  const ClassedSamples of_numbers = open_classed_samples(numbers, {}, nullptr, cache);
  CHECK(of_numbers.classes.empty());
  CHECK(contains(error_text([&] { open_classed_samples(test, {&of_numbers.classes}, nullptr, cache); }),
                 "has 'crow' as its 'cls', expected a number"));
  CHECK(contains(error_text([&] {
                   open_classed_samples(train, {nullptr, true}, nullptr, cache);
                 }),
                 "has 'wren' as its 'cls', expected a number"));
  CHECK(contains(error_text([&] {
                   open_classed_samples(archive("m.tar", {"1", "crow"}), {}, nullptr, cache);
                 }),
                 "sample '1' has 'crow' as its 'cls', expected a number"));
}

TEST_CASE("samples that lack something are refused by name, or left out") {
  const TemporaryFolder folder;
  const UnpackedFiles cache(folder.path("cache"));
  const auto error = [&](const WebDataset& source) {
    return error_text([&] { open_samples(source, nullptr, cache); });
  };
  WebDataset source = samples({"ustar.tar"});
  source.image = "jpg";
  CHECK(contains(error(source), "ustar.tar: sample 'train/0000' has no 'jpg', but [cls, json, png]; say in 'image'"));
  source = samples({"ustar.tar"});
  source.labels.one = "json";
  CHECK(contains(error(source), "sample 'train/0000' has '{}' as its 'json', expected a number"));
  source = samples({"several.tar"});
  source.labels.one = "kind";
  CHECK(contains(error(source),
                 "sample 'one' has several pictures; say in 'image' which one to take, as image: right.jpg"));
  const std::string png = read_text_file(std::filesystem::path(MIRRORTRAIN_SOURCE_DIR) / "tests/pictures/rgb.png");
  const std::string mixed =
      folder.write("mixed.tar", entry_of_tar("a.png", png) + entry_of_tar("a.cls", "1") + entry_of_tar("b.cls", "2") +
                                    entry_of_tar("c.cls", "0") + entry_of_tar("c.png", png));
  CHECK(contains(error(samples({mixed})), "sample 'b' has no picture, but [cls]"));
  BadExamples bad(OnBadExample::kSkip);
  const Examples left = open_samples(samples({mixed}), &bad, cache);
  CHECK(labels_in(left) == std::vector<double>{1, 0});
  CHECK(left.outputs[0].array.picked == std::vector<std::int64_t>{0, 2});
  CHECK(bad.rows() == std::vector<std::int64_t>{1});
  const std::string twice = folder.write("twice.tar", entry_of_tar("a.png", png) + entry_of_tar("a.png", png));
  CHECK(contains(error(samples({twice})), "the sample 'a' has 'a.png' twice"));
  const std::string number = "1" + std::string(4096, ' ');  // more than a label would be
  const std::string article =
      folder.write("article.tar", entry_of_tar("a.png", png) + entry_of_tar("a.cls", number + "x"));
  CHECK(
      contains(error(samples({article})), "sample 'a' has 4098 bytes as its 'cls', expected a label of at most 4096"));
}

TEST_CASE("damaged archives are refused with the place") {
  const TemporaryFolder folder;
  const UnpackedFiles cache(folder.path("cache"));
  const auto error = [&](const std::string& content) {
    const std::string file = folder.write("a.tar", content);
    return error_text([&] { open_samples(samples({file}), nullptr, cache); });
  };
  CHECK(contains(error(std::string(600, 'x')), "a.tar: byte 0: "));
  CHECK(contains(error("short"), "the archive ends in the midst of a header"));
  CHECK(contains(error(std::string(1024, '\0')), "expected at least one sample"));
  const std::string good = entry_of_tar("a.cls", "1");
  std::string flipped = good + good;
  flipped[1024 + 3] = 'x';
  CHECK(contains(error(flipped), "byte 1024: a header does not match its checksum"));
  CHECK(contains(error(entry_of_tar("a.png", "1", '0', "77777777777")), "it is truncated"));
  CHECK(contains(error(entry_of_tar("a.png", "", '2')), "'a.png' is a link"));
  CHECK(contains(error(entry_of_tar("a.png", "", 'S')), "'a.png' is a sparse file"));
  CHECK(contains(error(entry_of_tar("x", "99 path=a\n", 'x')), "a damaged header of pax"));
  CHECK(contains(error(entry_of_tar("x", "a long name", 'L') + std::string(512, '\0')), "a long name has no file"));
  const std::string whole = read_text_file(kFormats + "/gnu.tar");
  for (std::size_t bytes = 1; bytes < 4000; bytes += 500) CHECK(error(whole.substr(0, bytes)) != "no error");
}

TEST_CASE("an archive that changes while it is read is named") {
  const TemporaryFolder folder;
  const UnpackedFiles cache(folder.path("cache"));
  const std::string file = folder.write("a.tar", read_text_file(kFormats + "/ustar.tar"));
  const Examples examples = open_samples(samples({file}), nullptr, cache);
  CHECK(contains(examples.inputs[0].source->row_text(2), "a.tar: "));
  const std::string place = examples.inputs[0].source->place_text(2);  // without its name, which would be read
  CHECK(contains(place, "a.tar: the picture at byte "));
  std::filesystem::resize_file(file, 700);
  CHECK(examples.inputs[0].source->row_text(2) == place);
  std::vector<float> pixels(13 * 18 * 3);
  CHECK(contains(error_text([&] { examples.inputs[0].source->read(2, pixels); }), "a.tar"));
}

}  // namespace
}  // namespace mirrortrain::data
