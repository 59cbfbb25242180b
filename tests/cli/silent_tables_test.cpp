// Tables that were read as nobody meant, without a word: each is read as it is meant, or warned of.
#include <doctest/doctest.h>

#include "cli/program.h"
#include "error_text.h"

namespace mirrortrain::testing {
namespace {

struct Tables {
  TemporaryFolder folder;

  /// A network that gives out its inputs, on a.csv with these keys.
  void write_identity(const std::string& source, int inputs, const std::string& more = "") {
    write_file(
        folder / "net.yaml",
        fmt::format(R"(data:
  global_batch_size: 100
  shuffle: false
  train: {{format: csv, file: a.csv, {}}}
{}model: {{input_shape: [{}], layers: [activation: {{activation: linear}}]}}
loss: {}
optimizer: {{type: sgd, learning_rate: 0.0}}
strategy: {{devices: [cpu:0], threads_per_replica: 1}}
logging: {{tensorboard: false, report: false}}
)",
                    source, more, inputs,
                    inputs == 1 ? "mean_squared_error" : "{type: sparse_categorical_crossentropy, from_logits: true}"));
    fs::remove_all(folder / "run");
  }
  Outcome fit(const std::string& arguments = "") {
    return run_program(folder, "fit net.yaml --run-dir run " + arguments);
  }
  std::vector<std::string> predictions(const std::string& arguments = "--split train") {
    const Outcome outcome = run_program(folder, "predict run " + arguments);
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
    std::vector<std::string> rows;
    for (std::size_t at = outcome.out.find('\n') + 1; at < outcome.out.size();) {
      const std::size_t end = outcome.out.find('\n', at);
      const std::string line = outcome.out.substr(at, end - at);
      rows.push_back(line.substr(line.find(',') + 1));
      at = end + 1;
    }
    return rows;
  }
};

TEST_CASE_FIXTURE(Tables, "times a second apart stay apart, in a table and written inline") {
  std::string rows = "t,y\n", times;
  for (int i = 0; i < 8; ++i) {
    rows += fmt::format("{},0\n", 1700000000 + i);
    times += fmt::format("{}[{}]", i > 0 ? ", " : "", 1700000000 + i);
  }
  write_file(folder / "a.csv", rows);
  const std::string adapted = "  preprocessing: [{normalization: {adapt: true}}]\n";
  const std::string shifted = "  preprocessing: [{rescaling: {scale: 1.0, offset: -1700000000.0}}]\n";
  const std::string inlined =
      "--set 'data.train={format: inline, features: [" + times + "], labels: [0,0,0,0,0,0,0,0]}'";
  for (const std::string& source : {std::string(), inlined}) {
    CAPTURE(source);
    write_identity("labels: y", 1, adapted);
    REQUIRE(fit(source).exit_code == 0);
    const auto normalized = predictions();
    for (int i = 0; i < 8; ++i) {
      CHECK(std::stod(normalized[static_cast<std::size_t>(i)]) ==
            doctest::Approx((i - 3.5) / 2.291287847).epsilon(1e-6));
    }
    write_identity("labels: y", 1, shifted);
    REQUIRE(fit(source).exit_code == 0);
    CHECK(predictions() == std::vector<std::string>{"0", "1", "2", "3", "4", "5", "6", "7"});
    write_identity("labels: y", 1);
    const Outcome plain = fit(source);
    CHECK_MESSAGE(contains(plain.err, "that differ in the file are the same in float32, which has 7 digits"),
                  plain.err);
  }
}

TEST_CASE_FIXTURE(Tables, "a first line of words is an example or a header, by the lines below it") {
  const std::string encoding = "labels: 2, encoding: {0: index, 1: index}";
  write_identity(encoding, 2);
  write_file(folder / "a.csv", "x,o,positive\no,o,negative\nx,x,positive\no,x,negative\n");
  Outcome outcome = fit();
  CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
  CHECK_MESSAGE(contains(outcome.err, "a.csv:1: the first line (x, o, positive) has words that occur below it"),
                outcome.err);
  CHECK(predictions().size() == 4);
  write_file(folder / "new.csv", "o,x\nx,x\n");
  CHECK(predictions("--data new.csv").size() == 2);
  // Nothing recurs: it may be either, which is said.
  write_identity(encoding, 2);
  write_file(folder / "a.csv", "first,second,kind\no,o,negative\nx,x,positive\no,x,negative\n");
  outcome = fit();
  CHECK_MESSAGE(contains(outcome.err, "a.csv:1: the first line (first, second, kind) is taken for a header"),
                outcome.err);
  CHECK(predictions().size() == 3);
  write_identity(encoding + ", header: true", 2);
  CHECK_FALSE(contains(fit().err, "the first line"));
  // A column of numbers below a word decides.
  write_identity("labels: 1", 1);
  write_file(folder / "a.csv", "first,kind\n1,2\n3,4\n");
  CHECK_FALSE(contains(fit().err, "the first line"));
  CHECK(predictions().size() == 2);
  write_identity("labels: 0", 2);
  write_file(folder / "a.csv", "0,1,2\n1,2.5,3\n0,3,1.5\n");
  CHECK(contains(fit().err, "a.csv:1: the first line counts up (0, 1, 2)"));
}

TEST_CASE_FIXTURE(Tables, "files that were joined, or split, have their header once") {
  write_identity("labels: y", 1);
  write_file(folder / "a.csv", "x,y\n1,0\n2,0\nx,y\n3,0\nx,y\n4,0\n");
  const Outcome joined = fit();
  CHECK_MESSAGE(joined.exit_code == 0, joined.err);
  CHECK_MESSAGE(contains(joined.err, "a.csv:4: the header occurs again here and in 1 lines more, and is passed over"),
                joined.err);
  CHECK(predictions() == std::vector<std::string>{"1", "2", "3", "4"});
  write_identity("labels: y", 1);
  write_file(folder / "part-0.csv", "x,y\n1,0\n2,0\n");
  write_file(folder / "part-1.csv", "3,0\n4,0\n");
  REQUIRE(fit("--set 'data.train.file=part-*.csv'").exit_code == 0);
  CHECK(predictions() == std::vector<std::string>{"1", "2", "3", "4"});
}

TEST_CASE_FIXTURE(Tables, "lines may end with CR alone, or twice with CR") {
  for (const std::string end : {"\r", "\r\r\n", "\r\n", "\n"}) {
    CAPTURE(end);
    write_identity("labels: y", 1);
    write_file(folder / "a.csv", "x,y" + end + "1,0" + end + "\"2\",0" + end);
    REQUIRE(fit().exit_code == 0);
    CHECK(predictions() == std::vector<std::string>{"1", "2"});
  }
  write_file(folder / "a.csv", "x,\ry\n1,0\n2,0\n");
  CHECK(contains(fit().err, "a carriage return (CR) alone is in this line"));
}

TEST_CASE_FIXTURE(Tables, "labels that are no numbers are no classes where the loss compares numbers") {
  for (const auto& [label, remedy] : {std::pair<std::string, std::string>{"50%", "write 50, without the percent sign"},
                                      {"\"1,200\"", "if its comma separates thousands, write 1200"},
                                      {"$5", "write 5, without the currency"},
                                      {"low", "for classes take sparse_categorical_crossentropy"}}) {
    CAPTURE(label);
    write_identity("labels: y", 1);
    write_file(folder / "a.csv", "x,y\n1," + label + "\n2," + label + "\n");
    const Outcome outcome = fit();
    CHECK(outcome.exit_code == 1);
    CHECK_MESSAGE(contains(outcome.err, remedy), outcome.err);
  }
}

TEST_CASE_FIXTURE(Tables, "columns that are no features are warned of") {
  const auto warnings = [&](const std::string& header, const auto& row, int inputs, const std::string& keys = "",
                            const std::string& more = "  preprocessing: [{normalization: {adapt: true}}]\n") {
    std::string rows = header + "\n";
    for (int i = 0; i < 40; ++i) rows += row(i) + "\n";
    write_file(folder / "a.csv", rows);
    write_identity("labels: y" + keys, inputs, more);
    return run_program(folder, "config check net.yaml").err + fit().err;
  };
  const auto noise = [](int i) { return i * 37 % 11 * 0.3; };
  std::string err = warnings(
      ",a,y", [&](int i) { return fmt::format("{},{},{}", i * 17 % 40, noise(i), i % 2); }, 2);
  CHECK_MESSAGE(contains(err, "data.train: the first column, which has no name, counts the rows"), err);
  err = warnings(
      ",a,y", [&](int i) { return fmt::format("{},{},{}", noise(i + 3), noise(i), i % 2); }, 2);
  CHECK_MESSAGE(contains(err, "column 0 ('') has no name and is taken for a feature"), err);
  err = warnings(
      "a,id,y", [&](int i) { return fmt::format("{},{},{}", noise(i), 100 + i * 17 % 40, i % 2); }, 2);
  CHECK_MESSAGE(contains(err, "column 1 ('id') numbers the rows, as it has another whole number in each"), err);
  CHECK_FALSE(
      contains(warnings(
                   "a,id,y", [&](int i) { return fmt::format("{},{},{}", noise(i), i, i % 2); }, 1, ", features: [a]"),
               "numbers the rows"));
  err = warnings(
      "a,b,y", [&](int i) { return fmt::format("{},7,{}", noise(i), i % 2); }, 2);
  CHECK_MESSAGE(
      contains(err, "column 1 ('b') is the same number in every training row, so that normalization divides by"), err);
  CHECK_FALSE(contains(warnings(
                           "a,b,y", [&](int i) { return fmt::format("{},7,{}", noise(i), i % 2); }, 2, "", ""),
                       "is the same number"));
  err = warnings(
      "a,b,y", [&](int i) { return fmt::format("{},{},{}", noise(i), i % 2 == 0 ? 5 : 9, i % 2); }, 2);
  CHECK_MESSAGE(contains(err, "column 1 ('b') is the label in other words"), err);
  err = warnings(
      "a,b,y", [&](int i) { return fmt::format("{},{},{}", noise(i), i % 3 == 0 ? 5 : 9, i % 2); }, 2);
  CHECK_FALSE(contains(err, "the label in other words"));
}

TEST_CASE_FIXTURE(Tables, "a byte order mark is no part of a text, a vocabulary or a table") {
  const std::string mark = "\xEF\xBB\xBF";
  write_file(folder / "v.txt", mark + "a\nb\n \n");
  write_file(folder / "v.json", mark + R"(["a", "b", " "])");
  write_file(folder / "t.txt", mark + "abab abab ab");
  write_file(folder / "text.yaml", mark + R"(data:
  global_batch_size: 2
  train: {format: text, files: t.txt, window: 4, vocabulary: v.txt}
model: {input_shape: [4], layers: [embedding: {input_dim: 3, output_dim: 3}]}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
optimizer: sgd
)");
  for (const std::string vocabulary : {"v.txt", "v.json"}) {
    const Outcome outcome = run_program(folder, "fit text.yaml --dry-run --set data.train.vocabulary=" + vocabulary);
    CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
  }
  write_identity("labels: y", 1);
  write_file(folder / "a.csv", mark + "x,y\n1,0\n");
  CHECK(fit().exit_code == 0);
}

TEST_CASE_FIXTURE(Tables, "numbers that stand for missing values, and words spelled in two ways, are warned of") {
  write_identity("labels: y", 2);
  std::string rows = "a,b,y\n";
  for (int i = 0; i < 20; ++i) rows += fmt::format("{},{},{}\n", i % 7 * 0.5, i % 5 == 0 ? -999.0 : i * 0.1, i % 2);
  write_file(folder / "a.csv", rows);
  const Outcome marked = run_program(folder, "config check net.yaml");
  CHECK_MESSAGE(contains(marked.err, "column 1 ('b') is -999 in 4 rows, far from its other numbers"), marked.err);
  CHECK_MESSAGE(contains(marked.err, "write missing_values: [\"-999\"] and missing: mean"), marked.err);
  write_identity("labels: y, missing_values: [\"-999\"], missing: mean", 2);
  const Outcome followed = run_program(folder, "config check net.yaml");
  CHECK(followed.exit_code == 0);
  CHECK_MESSAGE(!contains(followed.err, "-999"), followed.err);

  write_identity("labels: y, encoding: {b: one_hot}", 4);
  write_file(folder / "a.csv", "a,b,y\n1,New York,Yes\n2,new york,no\n3,Rome,yes\n4,Rome,no\n");
  const Outcome spelled = run_program(folder, "config check net.yaml");
  CHECK_MESSAGE(contains(spelled.err, "'Yes' and 'yes' are two classes, and differ in case or spaces alone"),
                spelled.err);
  CHECK_MESSAGE(contains(spelled.err, "column 1 ('b'): 'New York' and 'new york' are two words"), spelled.err);
}

}  // namespace
}  // namespace mirrortrain::testing
