#include "data/folders/image_folder.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "data/feeding/feeder.h"
#include "data/files.h"
#include "data/fingerprint.h"
#include "data/loading/load.h"
#include "data/one_spec.h"
#include "data/pictures/picture.h"
#include "data/pictures/picture_steps.h"
#include "data/reading/example_maker.h"

namespace mirrortrain::data {
namespace {

namespace fs = std::filesystem;

const fs::path kPictures = fs::path(MIRRORTRAIN_SOURCE_DIR) / "tests/pictures";

class Folders {
 public:
  void copy(const std::string& picture, const std::string& to) {
    const fs::path path = folder_.path(to);
    fs::create_directories(path.parent_path());
    fs::copy_file(kPictures / picture, path, fs::copy_options::overwrite_existing);
  }
  std::string write(const std::string& name, std::string_view content) {
    fs::create_directories(fs::path(folder_.path(name)).parent_path());
    return folder_.write(name, content);
  }
  std::string path(const std::string& name) const { return folder_.path(name); }
  ImageFolder source(const std::string& name) const {
    ImageFolder source;
    source.directory = {path(name)};
    return source;
  }

 private:
  TemporaryFolder folder_;
};

std::vector<float> pixels(const Dataset& dataset, std::int64_t row) {
  std::vector<float> elements(static_cast<std::size_t>(dataset.features(0).row_elements()));
  dataset.source(0)->read(dataset.first_row() + row, elements);
  return elements;
}

/// Two classes: "b" with two pictures, "a" with one; and what does not count.
struct TwoClasses : Folders {
  TwoClasses() {
    copy("rgb.png", "set/b/2.PNG");
    copy("gray.png", "set/b/10.png");
    copy("photo.jpg", "set/a/x.JPEG");
    copy("rgb.png", "set/a/.hidden.png");
    copy("rgb.png", "set/.hidden/x.png");
    write("set/a/notes.txt", "no picture");
    write("set/readme.md", "no folder");
  }
};

TEST_CASE("a picture folder's classes and files are in bytewise order, and decode to 0 to 255 in the folder's color") {
  const TwoClasses folders;
  const FoundPictures found = find_pictures(folders.source("set"), {});
  CHECK(found.classes == std::vector<std::string>{"a", "b"});
  const Dataset dataset(find_pictures(folders.source("set"), {}).examples);
  CHECK(dataset.rows() == 3);
  CHECK(dataset.features(0).shape == Shape{3, 13, 18, 3});
  const auto labels = dataset.labels(0).span<double>();
  CHECK(std::vector<double>(labels.begin(), labels.end()) == std::vector<double>{0, 1, 1});
  CHECK(dataset.source(0)->row_text(1) == folders.path("set/b/10.png"));
  const Picture rgb = decode_picture(read_file(kPictures / "rgb.png"), 3, "rgb.png");
  CHECK(pixels(dataset, 2) == std::vector<float>(rgb.pixels.begin(), rgb.pixels.end()));

  ImageFolder gray = folders.source("set");
  gray.color = PictureColor::kGray;
  gray.image_size = {4, 6};
  CHECK(find_pictures(gray, {}).examples.inputs[0].array.shape == Shape{3, 4, 6, 1});
}

TEST_CASE("the feeder brings pictures as it brings rows in memory, expected or not, converted") {
  const TwoClasses folders;
  const Dataset dataset(find_pictures(folders.source("set"), {}).examples);
  const OneSpec spec{{13, 18, 3}, {}, DType::kInt32, 2, false};
  const Feeder feeder(dataset, {Rescaling{{}, 0.5, 1}}, spec, {.ahead = {1 << 20, 2}});
  CHECK(feeder.reads_ahead());
  const std::vector<std::int64_t> rows{2, 0};
  feeder.expect(rows);
  std::vector<float> features(2 * 13 * 18 * 3);
  std::vector<std::int32_t> labels(2);
  feeder.fill(rows, one_batch({DType::kFloat32, {2, 13, 18, 3}, reinterpret_cast<std::byte*>(features.data())},
                              {DType::kInt32, {2}, reinterpret_cast<std::byte*>(labels.data())}));
  CHECK(labels == std::vector<std::int32_t>{1, 0});
  const auto last = pixels(dataset, 2), first = pixels(dataset, 0);
  for (std::size_t i = 0; i < last.size(); ++i) {
    CHECK(features[i] == last[i] * 0.5f + 1);
    CHECK(features[last.size() + i] == first[i] * 0.5f + 1);
  }
}

TEST_CASE("validation of pictures is drawn by the seed, since files are sorted by class") {
  Folders folders;
  for (int i = 0; i < 10; ++i) folders.copy("rgb.png", "set/a/" + std::to_string(i) + ".png");
  for (int i = 0; i < 10; ++i) folders.copy("gray.png", "set/b/" + std::to_string(i) + ".png");
  DataOptions options;
  options.train.value = folders.source("set");
  options.validation.value = ValidationFraction{0.3, std::nullopt};
  options.test.value = folders.source("set");
  const Splits splits = load(options, 5, {});
  CHECK(splits.train.rows() == 14);
  CHECK(splits.validation->rows() == 6);
  const auto labels = splits.validation->labels(0).span<double>();
  CHECK(std::count(labels.begin(), labels.end(), 0) > 0);
  CHECK(splits.adapted.classes_of("") == std::vector<std::string>{"a", "b"});
  const Picture gray = decode_picture(read_file(kPictures / "gray.png"), 3, "gray.png");
  for (std::int64_t row = 0; row < 6; ++row) {
    const bool is_gray = pixels(*splits.validation, row) == std::vector<float>(gray.pixels.begin(), gray.pixels.end());
    CHECK(is_gray == (labels[static_cast<std::size_t>(row)] == 1));
  }
  CHECK(fingerprint(splits.train) != fingerprint(*splits.validation));
}

TEST_CASE("one picture that changes, whichever it is, changes the fingerprint") {
  Folders folders;
  constexpr int kPicturesOfClass = 100;  // more than are read for it
  for (int i = 0; i < kPicturesOfClass; ++i) {
    for (const char* const name : {"a", "b"}) folders.copy("rgb.png", fmt::format("set/{}/{:03}.png", name, i));
  }
  DataOptions options;
  options.train.value = folders.source("set");
  const std::string before = fingerprint(load(options, 5, {}).train);
  CHECK(fingerprint(load(options, 5, {}).train) == before);
  for (const int i : {0, 1, 50, 98, 99}) {
    const std::string file = fmt::format("set/a/{:03}.png", i);
    folders.copy("gray.png", file);
    CHECK(fingerprint(load(options, 5, {}).train) != before);
    folders.copy("rgb.png", file);
  }
}

TEST_CASE("a table of names and labels takes the place of classes' folders") {
  Folders folders;
  folders.copy("rgb.png", "set/one.png");
  folders.copy("photo.jpg", "set/more/two.jpg");
  ImageFolder source = folders.source("set");
  source.labels = config::Path{folders.write("labels.csv", "file,kind\nmore/two.jpg,zebra\none.png,ape\n")};
  const FoundPictures found = find_pictures(source, {});
  CHECK(found.classes == std::vector<std::string>{"ape", "zebra"});
  CHECK(found.examples.outputs[0].array.span<double>()[0] == 1);
  source.labels = config::Path{folders.write("labels.csv", "file,kind\nnone.png,ape\n")};
  CHECK(contains(error_text([&] { find_pictures(source, {}); }), "labels.csv:2: there is no picture"));
  source.labels = config::Path{folders.write("labels.csv", fmt::format("{}.png,ape\n", std::string(300, 'x')))};
  CHECK(contains(error_text([&] { find_pictures(source, {}); }), "labels.csv:1: there is no picture"));
  for (const std::string& outside : {std::string("more/../../other.png"), folders.path("set/one.png")}) {
    source.labels = config::Path{folders.write("labels.csv", fmt::format("one.png,ape\n{},ape\n", outside))};
    CHECK(
        contains(error_text([&] { find_pictures(source, {}); }), "labels.csv:2: expected the path of a picture below"));
  }
}

TEST_CASE("links that lead nowhere are passed over with a remark, but those of a picture are refused") {
  Folders folders;
  folders.copy("rgb.png", "set/a/one.png");
  folders.copy("rgb.png", "set/b/one.png");
  fs::create_symlink("loop", folders.path("set/loop"));
  const FoundPictures found = find_pictures(folders.source("set"), {});
  CHECK(found.examples.rows() == 2);
  CHECK(contains(found.examples.outputs[0].array.remarks.at(0), "1 file"));
  for (const char* target : {"loop.png", "../annex/0"}) {
    fs::remove(folders.path("set/a/loop.png"));
    fs::create_symlink(target, folders.path("set/a/loop.png"));
    const std::string error = error_text([&] { find_pictures(folders.source("set"), {}); });
    CHECK_MESSAGE(contains(error, fmt::format("it is a link to {}: get that file, or remove the link", target)), error);
  }
}

TEST_CASE("a table of names without a header keeps its first picture, whatever the labels are") {
  Folders folders;
  for (const char* const name : {"a", "b", "c"}) folders.copy("rgb.png", fmt::format("set/{}.png", name));
  const std::pair<const char*, std::vector<std::string>> tables[] = {
      {"a.png,bird\nb.png,dog\nc.png,cat\n", {"bird", "cat", "dog"}},
      {"a.png,1\nb.png,2\nc.png,1\n", {"1", "2"}},
      {"a.png,bird\nb.png,bird\nc.png,bird\n", {"bird"}},
      {"name,label\na.png,1\nb.png,0\nc.png,1\n", {"0", "1"}},
      {"\xEF\xBB\xBF"
       "a.png,bird\r\nb.png,dog\r\nc.png,cat\r\n",
       {"bird", "cat", "dog"}},
  };
  for (const auto& [table, classes] : tables) {
    CAPTURE(table);
    ImageFolder source = folders.source("set");
    source.labels = config::Path{folders.write("labels.csv", table)};
    const FoundPictures found = find_pictures(source, {});
    CHECK(found.examples.outputs[0].array.rows() == 3);
    CHECK(found.classes == classes);
  }
}

TEST_CASE("picture folders that cannot be used are refused with the remedy") {
  TwoClasses folders;
  const auto error = [&](const ImageFolder& source, const std::vector<std::string>* classes = nullptr) {
    return error_text([&] {
      const Dataset dataset(find_pictures(source, {.classes = classes}).examples);
      for (std::int64_t row = 0; row < dataset.rows(); ++row) pixels(dataset, row);
    });
  };
  CHECK(contains(error(folders.source("nowhere")), "cannot read this folder of pictures"));
  const std::vector<std::string> known{"a", "c"};
  CHECK(contains(error(folders.source("set"), &known), "the class 'b' is none of the 2 of the training data"));
  folders.copy("sixteen.png", "set/b/small.png");
  CHECK(contains(error(folders.source("set")), "expected 13 x 18 pixels (height x width) as in"));
  ImageFolder sized = folders.source("set");
  sized.image_size = {8, 8};
  CHECK(error(sized) == "no error");
  folders.write("set/b/broken.png", "\x89PNG\r\n\x1a\n");
  CHECK(contains(error(sized), "set/b/broken.png: this PNG does not decode"));
  fs::create_directories(folders.path("set/empty"));
  CHECK(contains(error(sized), "expected pictures of the class 'empty', found none"));
  folders.copy("rgb.png", "flat/x.png");
  CHECK(contains(error(folders.source("flat")), "expected a folder for each class"));
}

TEST_CASE("a crop that is drawn first reads its part of a picture alone, and gives what cropping the whole would") {
  ImageFolder source;
  source.directory = config::Path{std::string(MIRRORTRAIN_SOURCE_DIR) + "/tests/pictures"};
  for (const bool resizes : {true, false}) {
    if (resizes) {
      source.image_size = {9, 7};
    } else {
      source.image_size = {4, 6};  // of some of them
    }
    Examples examples = find_new_pictures(source);
    std::ranges::fill(examples.outputs[0].array.span<double>(), 0);
    const Dataset dataset(std::move(examples));
    RandomCrop crop;
    crop.height.value = 3;
    crop.width = 5;
    for (const std::int64_t padding : {0, 2}) {
      crop.padding = padding;
      const std::vector<PreprocessingStep> steps{crop, RandomFlip{}};
      const Shape shape = dataset.features(0).row_shape();
      const ExampleMaker maker(dataset, 0, steps, 3);
      const PictureSteps whole(steps, shape, 3);
      std::vector<float> pixels(static_cast<std::size_t>(shape.elements())), expected(3 * 5 * 3), made(3 * 5 * 3);
      for (std::int64_t row = 0; row < dataset.rows(); ++row) {
        for (std::int64_t epoch = 1; epoch < 6; ++epoch) {
          dataset.source(0)->read(row, pixels);
          whole.apply(row, epoch, pixels.data(), expected.data());
          maker.make({row, epoch}, made);
          CHECK(made == expected);
        }
      }
    }
  }
}

TEST_CASE("labels of pictures are numbers where the loss compares numbers") {
  TwoClasses folders;
  ImageFolder source = folders.source("set");
  const auto labels = [&](const std::string& second) {
    source.labels = config::Path{folders.write("labels.csv", "file,age\nb/2.PNG,25.5\nb/10.png," + second + "\n")};
  };
  labels("40.25");
  const FoundPictures found = find_pictures(source, {.are_numbers = true});
  CHECK(found.classes.empty());
  CHECK(found.examples.outputs[0].array.span<double>()[0] == 25.5);
  CHECK(found.examples.outputs[0].array.span<double>()[1] == 40.25);
  CHECK(find_pictures(source, {}).classes == std::vector<std::string>{"25.5", "40.25"});
  labels("old");
  const std::string error = error_text([&] { find_pictures(source, {.are_numbers = true}); });
  CHECK_MESSAGE(contains(error, "the label 'old' is a word, and the loss compares numbers"), error);
}

}  // namespace
}  // namespace mirrortrain::data
