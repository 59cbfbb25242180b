// mirrortrain data: a look at data before training.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cli/program.h"
#include "data/files.h"

namespace mirrortrain::testing::data_test {
namespace {

using nlohmann::json;

TEST_CASE("data says what a table has, and which examples are in two splits") {
  TemporaryFolder folder;
  std::string train = "size,color,kind\n", test = train;
  for (int i = 0; i < 40; ++i)
    train += fmt::format("{},{},{}\n", i % 8 == 0 ? "" : std::to_string(i), i % 2 == 0 ? "red" : "blue",
                         i % 4 == 0 ? "cat" : "dog");
  for (int i = 30; i < 50; ++i) test += fmt::format("{},{},{}\n", i, i % 2 == 0 ? "red" : "blue", "dog");
  write_file(folder / "train.csv", train + "7,blue,dog\n");
  write_file(folder / "test.csv", test);
  write_file(folder / "table.yaml",
             "data:\n  global_batch_size: 8\n  cache_directory: cache\n"
             "  train: {format: csv, file: train.csv, labels: kind, missing: mean, encoding: {color: one_hot}}\n"
             "  test: {format: csv, file: test.csv, labels: kind}\n"
             "model:\n  input_shape: [3]\n  layers: [{dense: {units: 2}}]\n"
             "loss: sparse_categorical_crossentropy\noptimizer: sgd\ntraining: {epochs: 1}\n");
  const Outcome outcome = run_program(folder, "data table.yaml --json data.json");
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  CHECK(outcome.out.find("train: 41 examples\n") != std::string::npos);
  CHECK(outcome.out.find("cat: 10 (24.4 %)") != std::string::npos);
  CHECK(outcome.out.find("missing in size: 5 cells\n") != std::string::npos);
  const json found = parsed(read_text_file(folder / "data.json"));
  const json& split = found["splits"][0];
  CHECK(split["split"] == "train");
  CHECK(split["inputs"][0]["features"][1]["name"] == "color = blue");
  CHECK(split["inputs"][0]["features"][1]["mean"].get<double>() == doctest::Approx(21.0 / 41));
  CHECK(split["outputs"][0]["classes"] == parsed(R"([{"class": "cat", "count": 10}, {"class": "dog", "count": 31}])"));
  // Of the empty cells, which are all the mean, the first is no duplicate; and 7,blue is there twice.
  CHECK(split["duplicates"]["count"] == 5);
  CHECK(found["duplicates"][0]["first"] == "train");
  CHECK(found["duplicates"][0]["second"] == "test");
  CHECK(found["duplicates"][0]["count"] == 9);  // 30 to 39 but 32, which is empty in train
  const Outcome by_position = run_program(folder, "data table.yaml --json - --set data.memory=1B");
  REQUIRE_MESSAGE(by_position.exit_code == 0, by_position.err);
  CHECK(parsed(by_position.out) == found);
}

TEST_CASE("data shows the first pictures on a page that needs no network") {
  TemporaryFolder folder;
  const std::vector<std::uint8_t> pixels(20 * 4 * 4, 100), classes(20, 1);
  write_file(folder / "x.npy", data::npy("|u1", false, "(20, 4, 4)", data::bytes_of(pixels)));
  write_file(folder / "y.npy", data::npy("|u1", false, "(20,)", data::bytes_of(classes)));
  write_file(folder / "pictures.yaml",
             "data:\n  global_batch_size: 8\n  train: {format: npy, features: x.npy, labels: y.npy}\n"
             "model:\n  input_shape: [4, 4, 1]\n  layers: [flatten, {dense: {units: 2}}]\n"
             "loss: sparse_categorical_crossentropy\noptimizer: sgd\ntraining: {epochs: 1}\n");
  const Outcome outcome = run_program(folder, "data pictures.yaml --html page.html");
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  const std::string page = read_text_file(folder / "page.html");
  CHECK(page.starts_with("<!DOCTYPE html>"));
  CHECK(page.find("src=\"data:image/png;base64,") != std::string::npos);
  CHECK(page.find("http:") == std::string::npos);
  CHECK(page.find("https:") == std::string::npos);
  CHECK(page.find("Content-Security-Policy\" content=\"default-src 'none'; img-src data:") != std::string::npos);
  CHECK(page.find("<title>Data of pictures</title>") != std::string::npos);
  CHECK(page.find("19 examples have the features of an earlier one") != std::string::npos);
  CHECK(run_program(folder, "data pictures.yaml --html none/page.html").exit_code == 2);
  CHECK(run_program(folder, "data pictures.yaml --set data.train.features=none.npy").exit_code == 1);
}

}  // namespace
}  // namespace mirrortrain::testing::data_test
