// Pictures of other sizes than the model's, in each format that has pictures: what config check says to write, written.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "cli/program.h"
#include "error_text.h"

namespace mirrortrain::testing::picture_sizes_test {
namespace {

struct Fixture {
  TemporaryFolder folder;

  /// `options`: those of the pictures.
  struct Format {
    std::string begin, end;
    bool is_table = false;
    std::string with(const std::string& options) const { return begin + options + end; }
  };

  Outcome check(const std::string& source, bool is_table, const std::string& shape = "[16, 12, 3]") {
    const std::string first = is_table ? "inputs: {p: {shape: " + shape + "}}, layers: [flatten: {inputs: [p]}"
                                       : "input_shape: " + shape + ", layers: [flatten";
    write_file(folder / "m.yaml",
               "data:\n  global_batch_size: 4\n  train: " + source +
                   "\n  preprocessing: [rescaling: {scale: 0.00392156862745098}]\nmodel: {" + first +
                   ", dense: {units: 3}]}\nloss: {type: sparse_categorical_crossentropy, from_logits: true}\n"
                   "optimizer: adam\ntraining: {epochs: 1}\n");
    return run_program(folder, "config check m.yaml");
  }
};

TEST_CASE_FIXTURE(Fixture, "pictures of several sizes are resized, and have colors, as the message says") {
  const std::string shapes = repository_file("data/tiny-shapes/train");
  std::string table = "picture,kind\n";
  int number = 0;
  for (const char* const kind : {"circle", "square", "triangle"}) {
    for (const auto& picture : fs::directory_iterator(fs::path(shapes) / kind)) {
      if (picture.path().extension() != ".png") continue;
      const std::string name = fmt::format("{}.png", number);
      fs::copy_file(picture.path(), folder / name);
      table += fmt::format("{},{}\n", name, kind);
      write_file(folder / fmt::format("{}.cls", number++), kind);
    }
  }
  write_file(folder / "table.csv", table);
  REQUIRE(run_script(folder, "tar -cf shapes.tar $(ls *.png *.cls | sort)").exit_code == 0);
  const Format formats[] = {
      {"{format: image_folder, directory: " + shapes, "}"},
      {"{format: webdataset, file: shapes.tar", "}"},
      {"{format: csv, file: table.csv, labels: kind, inputs: {p: {column: picture, as: picture", "}}}", true}};
  for (const Format& format : formats) {
    CAPTURE(format.begin);
    const Outcome before = check(format.with(""), format.is_table);
    CHECK(before.exit_code == 1);
    CHECK_MESSAGE(contains(before.err, "; write image_size: [16, 12], or "), before.err);
    const Outcome after = check(format.with(", image_size: [16, 12]"), format.is_table);
    CHECK_MESSAGE(after.exit_code == 0, after.err);
    const Outcome gray = check(format.with(", image_size: [16, 12], color: gray"), format.is_table);
    CHECK_MESSAGE(contains(gray.err, "; write color: rgb, or "), gray.err);
  }
}

TEST_CASE_FIXTURE(Fixture, "a picture of another size than the first is named, with the size to write") {
  fs::create_directories(folder / "train/a");
  fs::copy_file(repository_file("tests/pictures/rgb.png"), folder / "train/a/0.png");
  fs::copy_file(repository_file("tests/pictures/sixteen.png"), folder / "train/a/1.png");
  const Format format{"{format: image_folder, directory: train", "}"};
  const Outcome before = check(format.with(""), false, "[13, 18, 3]");
  CHECK_MESSAGE(before.err.starts_with("error: m.yaml:3:3: data.train: "), before.err);
  CHECK_MESSAGE(contains(before.err, "found 6 x 9; write image_size: [13, 18], to which all are resized"), before.err);
  CHECK(check(format.with(", image_size: [13, 18]"), false, "[13, 18, 3]").exit_code == 0);
}

}  // namespace
}  // namespace mirrortrain::testing::picture_sizes_test
