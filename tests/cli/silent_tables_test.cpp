// Tables that were read as nobody meant, without a word: each is read as it is meant, or warned of.
#include <doctest/doctest.h>

#include "cli/program.h"
#include "error_text.h"

namespace mirrortrain::testing::silent_tables_test {
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

TEST_CASE_FIXTURE(Tables, "whole numbers of which only two become one are warned of, others of many digits are not") {
  const char* const kWarning = "that differ in the file are the same in float32";
  write_identity("labels: y", 1);
  write_file(folder / "a.csv", "t,y\n16777217,0\n16777219,0\n16777216,0\n");
  const Outcome whole = fit();
  CHECK_MESSAGE(contains(whole.err, kWarning), whole.err);
  write_file(folder / "a.csv", "t,y\n16777216,0\n16777218,0\n16777220,0\n");
  CHECK_FALSE(contains(fit().err, kWarning));
  write_file(folder / "a.csv", "t,y\n0.1234567890,0\n0.1234567891,0\n0.75,0\n0.5,0\n0.25,0\n");
  CHECK_FALSE(contains(fit().err, kWarning));
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
  // Of words that become several features, too.
  const auto word = [](int i) { return i % 3 == 0 ? "no" : i % 3 == 1 ? "some" : "all"; };
  const std::string one_hot = ", encoding: {b: one_hot}";
  err = warnings(
      "a,b,y", [&](int i) { return fmt::format("{},{},{}", noise(i), word(i), i * i % 3); }, 4, one_hot);
  CHECK_FALSE_MESSAGE(contains(err, "the label in other words"), err);
  err = warnings(
      "a,b,y", [&](int i) { return fmt::format("{},{},{}", noise(i), word(i), i % 3); }, 4, one_hot);
  CHECK_MESSAGE(contains(err, "column 1 ('b') is the label in other words"), err);
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

TEST_CASE_FIXTURE(Tables, "a test split without the header has its labels where it says they are") {
  write_file(folder / "a.csv", "a,b,y\n1,5,0\n2,6,1\n3,7,0\n4,8,1\n");
  write_file(folder / "t.csv", "1,1.5,5.5\n0,2.5,6.5\n");
  write_identity("labels: y, features: [b, a]", 2, "  test: {format: csv, file: t.csv, labels: 0}\n");
  const Outcome outcome = fit();
  CHECK(outcome.exit_code != 0);
  CHECK_MESSAGE(contains(outcome.err,
                         "t.csv: column 0 is taken twice, among labels, weights and features; without a "
                         "header, features are the columns that they are in the training data"),
                outcome.err);
  write_file(folder / "t.csv", "1.5,5.5,1\n2.5,6.5,0\n");
  write_identity("labels: y, features: [b, a]", 2, "  test: {format: csv, file: t.csv, labels: 2}\n");
  CHECK(fit().exit_code == 0);
  CHECK(predictions("--split test --labels") == std::vector<std::string>{"0,1", "0,0"});
}

TEST_CASE_FIXTURE(Tables, "columns of one name are warned of, and new data may have them in the same order") {
  write_file(folder / "a.csv", "a,a,y\n1,5,0\n2,6,1\n3,7,0\n4,8,1\n");
  write_identity("labels: y", 2);
  const Outcome outcome = fit();
  CHECK(outcome.exit_code == 0);
  CHECK_MESSAGE(contains(outcome.err, "several columns are named 'a', so that new data must have the same columns"),
                outcome.err);
  write_file(folder / "new.csv", "a,a\n9,3\n");
  const Outcome predicted = run_program(folder, "predict run --data new.csv");
  CHECK_MESSAGE(predicted.exit_code == 0, predicted.err);
}

TEST_CASE_FIXTURE(Tables, "points that may separate thousands are warned of") {
  const auto warns = [&](const std::string& rows) {
    write_file(folder / "a.csv", "a;b;y\n" + rows);
    write_identity("labels: y", 2);
    const Outcome outcome = fit();
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
    return contains(outcome.err,
                    "a.csv: column 'a': 2.801 is read as a number below 1000, though those without a "
                    "point reach 950; if its point separates thousands, write 2801");
  };
  CHECK(warns("2.801;1;0\n950;2;1\n3.500;1;0\n12;2;1\n"));
  CHECK(!warns("2.801;1;0\n950;2;1\n3.5;1;0\n12;2;1\n"));
  CHECK(!warns("2.801;1;0\n0.950;2;1\n3.500;1;0\n1.200;2;1\n"));
  CHECK(!warns("2.801;1;0\n9;2;1\n3.512;1;0\n1;2;1\n"));
}

TEST_CASE_FIXTURE(Tables, "what a file's first line and the numbers below it may mean otherwise is warned of") {
  struct Row {
    const char *table, *keys;
    int inputs;
    const char* warning;
  };
  const Row rows[] = {
      {"zip,b,y\n01234,1,0\n80331,2,1\n", "labels: y", 2,
       "column 'zip': 01234 is read as the number 1234; if these are codes"},
      {"zip,b,y\n01,1,0\n12,2,1\n", "labels: y", 2, ""},
      {"a|b|y\n1|2|0\n3|1|1\n", "labels: y", 2, ""},
      {"a, b and c;d;y\n1;2;0\n3;1;1\n", "labels: y", 2, ""},
      {"x, y, z, all;d;y\n1;2;0\n3;1;1\n", "labels: y", 2, ""},
  };
  for (const auto& [table, keys, inputs, warning] : rows) {
    CAPTURE(table);
    write_file(folder / "a.csv", table);
    write_identity(keys, inputs);
    const Outcome outcome = fit();
    CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
    CHECK_MESSAGE((*warning == '\0' ? !contains(outcome.err, "a.csv") : contains(outcome.err, warning)), outcome.err);
  }
  write_file(folder / "a.csv", "sep=;\na;b;y\n1;2;0\n");
  write_identity("labels: y", 2);
  CHECK(
      contains(fit().err, "a.csv:1: expected the cells of a row, found 'sep=', which is for Excel alone; remove this"));
}

TEST_CASE_FIXTURE(Tables, "new data without a header are told apart from the training data, where that shows") {
  write_file(folder / "a.csv", "a,b,y\n1.5,5,p\n2,6,q\n3,7,p\n4,8,q\n");
  write_identity("labels: y", 2);
  REQUIRE(fit().exit_code == 0);
  const auto warning = [&](const std::string& rows) {
    write_file(folder / "new.csv", rows);
    return run_program(folder, "predict run --data new.csv").err;
  };
  CHECK(contains(warning("0,1.5,5\n1,2.5,6\n"),
                 "column 2 has numbers, where the training data has the words of the labels"));
  CHECK(contains(warning("0,1,2\n1.5,5,p\n"), "the first line counts up (0, 1, 2)"));
  CHECK(!contains(warning("1.5,5,p\n"), "column 2 has numbers"));
  const std::string empty = warning("a,b\n,5\n");
  CHECK_MESSAGE(contains(empty, "found an empty cell; fill it in or remove the row: the model was trained without"),
                empty);
}

TEST_CASE_FIXTURE(Tables, "a split that changed since a run was trained is not evaluated in silence") {
  std::string rows = "a,b,y\n";
  for (int i = 0; i < 30; ++i) rows += fmt::format("{}.5,{},{}\n", i % 7, i % 5, i % 3 == 0 ? "yes" : "no");
  write_file(folder / "a.csv", rows);
  write_identity("labels: y", 2, "  validation: {fraction: 0.2, shuffle: true}\n");
  REQUIRE(fit().exit_code == 0);
  CHECK(!contains(run_program(folder, "eval run --split validation").err, "changed since"));
  write_file(folder / "a.csv", rows + "9,9,no\n");
  for (const char* command : {"eval run --split validation", "predict run --split validation", "report run"}) {
    const Outcome outcome = run_program(folder, command);
    CHECK(outcome.exit_code == 0);
    CHECK_MESSAGE(contains(outcome.err, "the validation data changed since the run was trained"), outcome.err);
  }
  for (std::size_t at; (at = rows.find("yes")) != rows.npos;) rows.replace(at, 3, "maybe");
  write_file(folder / "a.csv", rows);
  const Outcome outcome = run_program(folder, "eval run --split validation");
  CHECK(outcome.exit_code == 1);
  CHECK_MESSAGE(contains(outcome.err,
                         "the classes of the training data are not those that the run was trained with: "
                         "'maybe' is new, 'yes' is gone; give it the data that it was trained on"),
                outcome.err);
}

TEST_CASE_FIXTURE(Tables, "numbers far outside the others, equal features and another scale are warned of") {
  const auto rows = [](double scale, const std::string& last) {
    std::string text = "a,b,y\n";
    for (int i = 0; i < 30; ++i) text += fmt::format("{},{},{}\n", scale * (i % 7 + 0.25), scale * (i % 5), i % 2);
    return text + last;
  };
  const std::string adapted = "  preprocessing: [{normalization: {adapt: true}}]\n";
  write_file(folder / "a.csv", rows(1, "1.0e9,1,0\n"));
  write_identity("labels: y", 2, adapted);
  const std::string outlier = fit().err;
  CHECK_MESSAGE(contains(outlier, "column 0 ('a') has 1e+09 once, and its other numbers go from 0.25 to 6.25"),
                outlier);
  write_file(folder / "a.csv", rows(1, "40,1,0\n"));
  write_identity("labels: y", 2, adapted);
  CHECK(!contains(fit().err, "once, and its other numbers"));
  write_file(folder / "a.csv", rows(0, ""));
  write_identity("labels: y", 2);
  CHECK(contains(fit().err, "the features of all examples are equal: there is nothing to learn from"));
  write_file(folder / "a.csv", rows(40, ""));
  write_file(folder / "t.csv", rows(0.1, ""));
  write_identity("labels: y", 2, "  test: {format: csv, file: t.csv, labels: y}\n");
  const std::string scale = fit().err;
  CHECK_MESSAGE(
      contains(scale, "data.test: features reach 0.625, and those of the training data 250; write both on one"), scale);
}

TEST_CASE_FIXTURE(Tables, "a table that is among the training data and in another split is warned of") {
  for (const char* name : {"a.csv", "part-1.csv", "part-2.csv"})
    write_file(folder / name, "a,b,y\n1.5,5,0\n2,6,1\n3,7,0\n");
  write_identity("labels: y", 2, "  test: {format: csv, file: part-1.csv, labels: y}\n");
  CHECK(contains(fit("--set 'data.train.file=part-*.csv'").err,
                 "data.test: " + (folder / "part-1.csv").string() + " is among the training data too"));
  fs::remove_all(folder / "run");
  CHECK(!contains(fit().err, "is among the training data too"));
}

}  // namespace
}  // namespace mirrortrain::testing::silent_tables_test
