// `init`: what it writes for data trains as it is.
#include <doctest/doctest.h>

#include <sstream>

#include "base/utf8.h"
#include "cli/program.h"

namespace mirrortrain::testing::init_test {
namespace {

using nlohmann::json;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

struct Fixture {
  TemporaryFolder folder;

  /// What init writes for `data`, once it has trained; its test accuracy, or validation's, in `accuracy`.
  std::string train(const std::string& data, const std::string& options = "", const std::string& set = "") {
    const Outcome made = run_program(folder, fmt::format("init '{}' {}", data, options));
    REQUIRE_MESSAGE(made.exit_code == 0, made.err);
    write_file(folder / "made.yaml", made.out);
    std::istringstream lines(made.out);
    for (std::string line; std::getline(lines, line);) {
      const bool is_one_word = line.find(", ") == std::string::npos;  // a long path
      CHECK_MESSAGE((display_width(line) <= 80 || is_one_word), line);
    }
    const Outcome trained = run_program(folder, fmt::format("fit made.yaml --run-dir run-{} {}", ++runs, set));
    REQUIRE_MESSAGE(trained.exit_code == 0, trained.err);
    for (const json& event : events_of(folder / fmt::format("run-{}", runs) / "metrics.jsonl")) {
      if (event["event"] != "epoch" || !event["validation"]["metrics"].contains("accuracy")) continue;
      accuracy = event["validation"]["metrics"]["accuracy"];
    }
    return made.out;
  }
  std::string error(const std::string& arguments) {
    const Outcome outcome = run_program(folder, "init " + arguments);
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.out.empty());
    return outcome.err;
  }

  int runs = 0;
  double accuracy = 0;
};

TEST_CASE_FIXTURE(Fixture, "one-hot labels get the loss that takes them") {
  const std::string script = R"sh(
printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': (40, 3), }" > x.npy
cp x.npy y.npy
for i in $(seq 40); do printf '\001\002\003' >> x.npy; printf '\000\001\000' >> y.npy; done
python3 -c "import zipfile; z = zipfile.ZipFile('oh.npz', 'w'); z.write('x.npy'); z.write('y.npy')")sh";
  if (run_script(folder, "command -v python3").exit_code != 0) return;
  REQUIRE(run_script(folder, script).exit_code == 0);
  const std::string made = train("oh.npz");
  CHECK_MESSAGE(contains(made, "units: 3"), made);
  CHECK(contains(made, "loss: {type: categorical_crossentropy, from_logits: true}"));
}

TEST_CASE_FIXTURE(Fixture, "arrays of an npz are taken by the names that people give them") {
  const std::string script = R"sh(
printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': (40, 3), }" > x.npy
printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': (40,), }" > y.npy
for i in $(seq 20); do printf '\001\002\003\003\002\001' >> x.npy; printf '\000\001' >> y.npy; done
python3 -c "
import sys, zipfile
z = zipfile.ZipFile('named.npz', 'w')
for name in sys.argv[1:]: z.write('y.npy' if 'y' in name.lower() or name.startswith(('lab', 'tar', 'test_l', 'train_l')) or name == 'arr_1' else 'x.npy', name + '.npy')
" )sh";
  if (run_script(folder, "command -v python3").exit_code != 0) return;
  for (const std::string names :
       {"x y", "X y", "X_train y_train X_test y_test", "train_images train_labels test_images test_labels",
        "data target", "features labels", "arr_0 arr_1", "x_train y_train"}) {
    CAPTURE(names);
    REQUIRE(run_script(folder, script + names).exit_code == 0);
    const std::string made = train("named.npz", "", "--set training.epochs=1");
    CHECK_MESSAGE(contains(made, fmt::format("features: {},", names.substr(0, names.find(' ')))), made);
    CHECK(contains(made, "2 classes"));
    CHECK(contains(made, "\n  test: ") == (names.find("test") != names.npos));
  }
}

TEST_CASE_FIXTURE(Fixture, "a file of features has its labels beside it, and other splits by their names") {
  const std::string script = R"sh(
for n in x_train x_test; do
  printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': (40, 2), }" > $n.npy
  for i in $(seq 20); do printf '\001\002\011\012' >> $n.npy; done
done
for n in y_train y_test; do
  printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': (40,), }" > $n.npy
  for i in $(seq 20); do printf '\000\001' >> $n.npy; done
done
cp x_train.npy alone.npy)sh";
  REQUIRE(run_script(folder, script).exit_code == 0);
  const std::string made = train("x_train.npy", "", "--set training.epochs=1");
  CHECK_MESSAGE(contains(made, "train: {format: npy, features: x_train.npy, labels: y_train.npy}"), made);
  CHECK(contains(made, "test: {format: npy, features: x_test.npy, labels: y_test.npy}"));
  CHECK(contains(error("alone.npy"), "alone.npy: expected the labels beside it"));
  CHECK(contains(error("'x_*.npy'"), "labels are found beside one file of examples"));
}

TEST_CASE_FIXTURE(Fixture, "a glob of files gets the configuration of the first, for all of them") {
  for (const char* const part : {"part-1.csv", "part-2.csv"}) {
    std::string table = "a,b,kind\n";
    for (int i = 0; i < 20; ++i) table += fmt::format("{},{},{}\n", i % 7 * 0.5, i % 3 * 1.5, i % 2 == 0 ? "u" : "v");
    write_file(folder / part, table);
  }
  const std::string made = train("part-*.csv", "", "--set training.epochs=1");
  CHECK_MESSAGE(contains(made, "# 40 examples, 2 classes: u, v"), made);
  CHECK(contains(made, "file: part-*.csv"));
  CHECK(contains(made, "name: part\n"));
  CHECK(contains(made, "# columns: as part-1.csv has them"));
  CHECK(run_program(folder, "init 'none-*.csv'").exit_code == 1);
}

TEST_CASE_FIXTURE(Fixture, "of samples with several pictures init says which one it takes") {
  const fs::path several = repository_file("tests/formats/several.tar");
  const Outcome made = run_program(folder, fmt::format("init '{}'", several.string()));
  REQUIRE_MESSAGE(made.exit_code == 0, made.err);
  CHECK_MESSAGE(contains(made.err, "image: the files that end in ."), made.err);
  CHECK(contains(made.err, "in place of image reads both"));
}

TEST_CASE_FIXTURE(Fixture, "a table gets encodings, means, normalization and outputs for its classes") {
  const std::string made = train(repository_file("data/garden-birds/train.csv"));
  CHECK(contains(made, "4 classes: blackbird, blue tit, robin, sparrow"));
  CHECK(contains(made, "encoding: {color: one_hot, place: one_hot}, missing: mean}"));
  CHECK(contains(made, "input_shape: [9]"));
  CHECK(accuracy > 0.7);
}

TEST_CASE_FIXTURE(Fixture, "a table of many columns of words is described in lines that a terminal shows") {
  std::string rows = "a very long first column,\"color, or hue\",\"the third, of all\",kind\n";
  for (int i = 0; i < 60; ++i)
    rows += fmt::format("{},{},{},{}\n", "xyz"[i % 3], "pqr"[i % 2], "uvw"[i % 3], "ab"[i % 2]);
  write_file(folder / "words.csv", rows);
  CHECK(contains(train("words.csv"), "\"color, or hue\": one_hot"));
}

TEST_CASE_FIXTURE(Fixture, "a column of many words is left out, and numbers as labels are predicted as numbers") {
  std::string rows = "id,width,price\n";
  for (int i = 0; i < 60; ++i) rows += fmt::format("name {},{},{}\n", i, i % 7, 2.5 * (i % 7) + 0.25);
  write_file(folder / "prices.csv", rows);
  const std::string made = train("prices.csv");
  CHECK(contains(made, "# id is left out: it has more than 20 different words"));
  CHECK(contains(made, "features: [width]"));
  CHECK(contains(made, "loss: mean_squared_error"));
  CHECK(contains(train("prices.csv", "--label width"), "7 classes"));
  CHECK(contains(error("prices.csv --label widht"), "did you mean 'width'?"));
}

TEST_CASE_FIXTURE(Fixture, "labels that are whole numbers are classes, and init says how they become numbers") {
  std::string rows = "width,stars\n";
  for (int i = 0; i < 60; ++i) rows += fmt::format("{},{}\n", i % 10 + 0.5, i % 5 + 1);
  write_file(folder / "stars.csv", rows);
  const Outcome made = run_program(folder, "init stars.csv");
  CHECK(contains(made.out, "dense: {units: 6}"));
  CHECK_MESSAGE(contains(made.err,
                         "1 of the 6 outputs has no example, as classes count from 0: number the labels 0 to 4 in the "
                         "data, and write units: 5\n"),
                made.err);
  CHECK(contains(made.err, "to predict them as numbers write units: 1, loss: mean_squared_error"));
  rows = "width,kind\n";
  for (int i = 0; i < 60; ++i) rows += fmt::format("{},{}\n", i % 10 + 0.5, i % 3);
  write_file(folder / "kinds.csv", rows);
  const Outcome few = run_program(folder, "init kinds.csv");
  CHECK_FALSE(contains(few.err, "as numbers"));
  CHECK_FALSE(contains(few.err, "count from 0"));
}

TEST_CASE_FIXTURE(Fixture, "dates are not read, and a table with another ending is named as what it is") {
  std::string rows = "when,width,kind\n";
  for (int i = 0; i < 60; ++i)
    rows += fmt::format("2024-01-{:02} 0{}:00,{},{}\n", i % 28 + 1, i / 28, i % 7, "ab"[i % 2]);
  write_file(folder / "days.csv", rows);
  CHECK(contains(run_program(folder, "init days.csv").err, "when is left out: it has dates, which are not read; add"));
  write_file(folder / "tabs.txt", "a\tb\ty\n1\t2\t0\n3\t4\t1\n");
  CHECK(contains(error("tabs.txt"), "; if it is a table, rename it to tabs.tsv"));
  write_file(folder / "plain.txt", "once upon a time\nthere was\n");
  CHECK_FALSE(contains(error("plain.txt"), "rename"));
}

TEST_CASE_FIXTURE(Fixture, "a column that numbers the rows is left out, and decimal commas are numbers") {
  std::string rows = "id;width;kind\n";
  for (int i = 0; i < 60; ++i) rows += fmt::format("{};{},5;{}\n", 1'000'000'000'000 + i, i % 7, i % 7 < 3 ? "a" : "b");
  write_file(folder / "kinds.csv", rows);
  const std::string made = train("kinds.csv");
  CHECK(contains(made, "# id is left out: it numbers the rows"));
  CHECK(contains(made, "features: [width],"));
  CHECK(contains(made, "decimal: \",\"}"));
  CHECK(contains(made, "normalization: {adapt: true}"));
  CHECK(accuracy > 0.9);
}

TEST_CASE_FIXTURE(Fixture, "a picture folder and an IDX file get convolutions") {
  const std::string made = train(repository_file("data/tiny-shapes/train"));
  CHECK(contains(made, "3 classes: circle, square, triangle"));
  CHECK(contains(made, "format: image_folder"));
  const std::string idx = train(repository_file("data/fashion-mnist-small/train-images-idx3-ubyte.gz"), "",
                                "--set training.epochs=1 --set training.steps=3");
  CHECK(contains(idx, "10 classes"));
  CHECK(contains(idx, "t10k-images-idx3-ubyte.gz"));
  CHECK(contains(idx, "input_shape: [28, 28, 1]"));
}

TEST_CASE_FIXTURE(Fixture, "init refuses what it does not know") {
  CHECK(contains(error("nowhere.csv"), "there is no such file or folder"));
  write_file(folder / "a.txt", "x");
  CHECK(contains(error("a.txt"), "expected a .csv, .tsv or .parquet table"));
  CHECK(contains(error("a.txt --label y"), "--label names a column of a .csv or .parquet file"));
}

}  // namespace
}  // namespace mirrortrain::testing::init_test
