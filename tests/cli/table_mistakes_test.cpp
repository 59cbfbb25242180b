// Everyday mistakes in tables and in how they are named: what the program answers, and that what it advises helps.
#include <doctest/doctest.h>

#include "cli/program.h"
#include "error_text.h"

namespace mirrortrain::testing::table_mistakes_test {
namespace {

constexpr const char* kConfig = R"(data:
  global_batch_size: 2
  train: SOURCE
model:
  input_shape: [2]
  layers:
    - dense: {units: 3}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
optimizer: adam
training: {epochs: 1}
)";
constexpr const char* kSource = "{format: csv, file: a.csv, labels: y}";
constexpr const char* kTable = "a,b,y\n1,2,0\n3,1,1\n2,5,2\n";

struct Fixture {
  TemporaryFolder folder;

  Outcome check(const std::string& source, const std::string& table, const std::string& part = "",
                const std::string& other = "") {
    std::string text = kConfig;
    text.replace(text.find("SOURCE"), 6, source);
    if (!part.empty()) text.replace(text.find(part), part.size(), other);
    write_file(folder / "m.yaml", text);
    write_file(folder / "a.csv", table);
    return run_program(folder, "config check m.yaml");
  }
};

TEST_CASE_FIXTURE(Fixture, "advice on a table, followed, makes it one that trains") {
  struct Row {
    const char *source, *table, *answer, *advised_source, *advised_table;
  };
  const Row rows[] = {
      {kSource, "a,b,y\n1,NA,0\n3,1,1\n2,5,2\n",
       "found 'NA'; say in 'missing' what a missing value stands for, as missing: mean",
       "{format: csv, file: a.csv, labels: y, missing: mean}", "a,b,y\n1,,0\n3,1,1\n2,5,2\n"},
      {kSource, "a,b,y\n1,nan,0\n3,1,1\n2,5,2\n",
       "found 'nan'; say in 'missing' what a missing value stands for, as missing: mean",
       "{format: csv, file: a.csv, labels: y, missing: mean}", "a,b,y\n1,,0\n3,1,1\n2,5,2\n"},
      {kSource, "a,b,y\n1,NA,0\n3,1,1\n2,5,2\n", "", "{format: csv, file: a.csv, labels: y, missing: mean}",
       "a,b,y\n1,NA,0\n3,null,1\n2,5,2\n"},
      {kSource, "a,b,y\n1,?,0\n3,1,1\n2,5,2\n",
       "found '?'; if it stands for a missing value, list it, as missing_values: [\"?\"], and say in 'missing' what",
       "{format: csv, file: a.csv, labels: y, missing: mean, missing_values: [\"?\"]}", "a,b,y\n1,?,0\n3,1,1\n2,5,2\n"},
      {"{format: csv, file: a.csv, labels: y, missing: {a: mean}, missing_values: [\"-9\"]}",
       "a,b,y\n1,-9.0,0\n3,1,1\n2,5,2\n",
       "found '-9.0'; say in 'missing' what a missing value stands for, as missing: mean",
       "{format: csv, file: a.csv, labels: y, missing: mean, missing_values: [\"-9\"]}",
       "a,b,y\n1,-9.0,0\n3,1,1\n2,5,2\n"},
      {kSource, "a,b,y\n1,-,0\n3,1,1\n2,5,2\n", "missing_values: [\"-\"]",
       "{format: csv, file: a.csv, labels: y, missing: mean, missing_values: [\"-\"]}", "a,b,y\n1,-,0\n3,1,1\n2,5,2\n"},
      {kSource, "a,b,y\n\"1,163\",2,0\n\"4,343\",1,1\n",
       "if its comma separates thousands, write 1163; if it is a decimal", kSource, "a,b,y\n1163,2,0\n4343,1,1\n"},
      {kSource, "a,b,y\n\"1,163.74\",2,0\n349.5,1,1\n", "; write 1163.74, without separators of thousands", kSource,
       "a,b,y\n1163.74,2,0\n349.5,1,1\n"},
      {kSource, "a,b,y\n1 163,2,0\n4 343,1,1\n", "; write 1163, without separators of thousands", kSource,
       "a,b,y\n1163,2,0\n4343,1,1\n"},
      {kSource, "a,b,y\n1'163,2,0\n3,1,1\n", "; write 1163, without separators", kSource, "a,b,y\n1163,2,0\n3,1,1\n"},
      {kSource, "a,b,y\n$5.5,2,0\n3,1,1\n", "; write 5.5, without the currency", kSource, "a,b,y\n5.5,2,0\n3,1,1\n"},
      {kSource, "a,b,y\n5 \xE2\x82\xAC,2,0\n3,1,1\n", "; write 5, without the currency", kSource,
       "a,b,y\n5,2,0\n3,1,1\n"},
      {kSource, "a,b,y\n50%,2,0\n3,1,1\n", "; write 50, without the percent sign", kSource, "a,b,y\n50,2,0\n3,1,1\n"},
      {kSource, "a,b,y\n12 kg,2,0\n3,1,1\n", "; write 12, without the unit", kSource, "a,b,y\n12,2,0\n3,1,1\n"},
      {kSource,
       "a,b,y\n\xE2\x88\x92"
       "5,2,0\n3,1,1\n",
       "; write -5, with a hyphen as its sign", kSource, "a,b,y\n-5,2,0\n3,1,1\n"},
      {kSource, "a,b,y\n5\xC2\xA0,2,0\n3,1,1\n", "; write 5, without the no-break space", kSource,
       "a,b,y\n5,2,0\n3,1,1\n"},
      {kSource, "a,b,y\n0x1f,2,0\n3,1,1\n", "; write 31, as numbers are decimal here", kSource,
       "a,b,y\n31,2,0\n3,1,1\n"},
      {kSource, "a,b,y\n12:30,2,0\n3,1,1\n", "; write a time as the number of its minutes or seconds", kSource,
       "a,b,y\n750,2,0\n3,1,1\n"},
      {kSource, "a,b,y\n1,2,0\n2,1,1\n3,2,0\n4,1,1\n5,2,0\nerror,1,1\n7,2,0\n8,1,1\n9,2,0\n10,1,1\n11,1,0\n12,2,0\n",
       "found 'error'; 11 other cells of the column are numbers: correct this one, or, if it stands for a missing "
       "value, list it, as missing_values: [\"error\"], and say in 'missing'",
       "{format: csv, file: a.csv, labels: y, missing: mean, missing_values: [error]}",
       "a,b,y\n1,2,0\n2,1,1\n3,2,0\n4,1,1\n5,2,0\nerror,1,1\n7,2,0\n8,1,1\n9,2,0\n10,1,1\n11,1,0\n12,2,0\n"},
      {"{format: csv, file: a.csv, labels: y, decimal: \",\"}", "a;b;y\n1.5;2;0\n3;1;1\n",
       "this one has a point: write 1,5", "{format: csv, file: a.csv, labels: y, decimal: \",\"}",
       "a;b;y\n1,5;2;0\n3;1;1\n"},
      {kSource, "a,b,y\n1,2,0\r3,1,1\n2,5,2\n", "lines end with CR alone here: save the file with LF or CRLF", kSource,
       "a,b,y\n1,2,0\n3,1,1\n2,5,2\n"},
      {kSource, "a,b,day,y\n1,2,2024-01-05,0\n3,1,2024-01-06,1\n",
       "found '2024-01-05'; a column of words needs an encoding, as in 'encoding: {day: one_hot}', or is left out "
       "where "
       "'features' lists the others",
       "{format: csv, file: a.csv, labels: y, features: [a, b]}", "a,b,day,y\n1,2,2024-01-05,0\n3,1,2024-01-06,1\n"},
      {kSource, "a,kind,y\n1,red,0\n3,green,1\n", "as in 'encoding: {kind: one_hot}'",
       "{format: csv, file: a.csv, labels: y, encoding: {kind: index}}", "a,kind,y\n1,red,0\n3,green,1\n"},
      {kSource, "a,b,y\n1,2,1\n3,1,2\n2,5,3\n",
       "label 3 is not one of the 3 classes 0 to 2; correct it, or give the model as many outputs as there are "
       "classes, "
       "which count from 0",
       kSource, kTable},
      {kSource, "1,2,0\n3,1,1\n2,5,2\n",
       "the columns are 1, 2, 0; if the first line is an example, put the columns' names in a line above it, or "
       "write header: false, and 'labels' as the column's number, counted from 0",
       "{format: csv, file: a.csv, labels: 2, header: false}", "1,2,0\n3,1,1\n2,5,2\n"},
      {"a.csv", kTable, "unknown data source 'a.csv'; write {format: csv, file: a.csv, labels: ...}", kSource, kTable},
      {"{format: excel, file: a.xlsx}", kTable, "{format: csv, file: FILE, labels: COLUMN}", kSource, kTable},
      {"{format: csv, file: 'https://example.com/a.csv', labels: y}", kTable,
       "https:/example.com/a.csv: data are read from files of this machine; download them, and name the file", kSource,
       kTable},
  };
  for (const Row& row : rows) {
    CAPTURE(std::string(row.answer));
    const Outcome outcome = check(row.source, row.table);
    CHECK(outcome.exit_code != 0);
    CHECK_MESSAGE(contains(outcome.err, row.answer), outcome.err);
    const Outcome after = check(row.advised_source, row.advised_table);
    CHECK_MESSAGE(after.exit_code == 0, after.err);
  }
}

TEST_CASE_FIXTURE(Fixture, "a column that counts the rows is no feature without a warning") {
  const auto check_wide = [&](const std::string& source, const std::string& table) {
    return check(source, table, "input_shape: [2]", "input_shape: [3]").err;
  };
  const std::string warning =
      "the first column, which has no name, counts the rows and is taken for a feature; list the others in 'features', "
      "or save the table without it, as pandas does with index=False";
  CHECK(contains(check_wide(kSource, ",a,b,y\n0,1,2,0\n1,3,1,1\n2,2,5,2\n"), warning));
  CHECK(contains(check_wide(kSource, "Unnamed: 0,a,b,y\n7,1,2,0\n3,3,1,1\n5,2,5,2\n"), warning));
  CHECK_FALSE(contains(check_wide(kSource, ",a,b,y\n0.5,1,2,0\n1,3,1,1\n2,2,5,2\n"), warning));
  CHECK_FALSE(contains(check_wide(kSource, "id,a,b,y\n0,1,2,0\n1,3,1,1\n2,2,5,2\n"), warning));
  const std::string table = ",a,b,y\n0,1,2,0\n1,3,1,1\n2,2,5,2\n";
  const Outcome listed = check("{format: csv, file: a.csv, labels: y, features: [a, b]}", table);
  CHECK(listed.exit_code == 0);
  CHECK_FALSE(contains(listed.err, warning));
}

TEST_CASE_FIXTURE(Fixture, "numbers beyond float32 are no words") {
  for (const char* const number : {"1e39", "-1e39", "1e400"}) {
    const Outcome outcome = check(kSource, fmt::format("a,b,y\n1,{},0\n3,1,1\n2,5,2\n", number));
    CHECK_MESSAGE(
        contains(outcome.err, fmt::format("found '{}'; float32 holds numbers up to 3.4e38: divide the column's "
                                          "numbers by a constant",
                                          number)),
        outcome.err);
  }
}

TEST_CASE_FIXTURE(Fixture, "a folder of splits in place of one of classes is told with the folder to name") {
  for (const char* const kind : {"cat", "dog"}) {
    fs::create_directories(folder / "pictures/train" / kind);
    fs::copy_file(repository_file("tests/pictures/rgb.png"), folder / "pictures/train" / kind / "a.png");
  }
  const auto check_folder = [&](const std::string& directory) {
    return check(fmt::format("{{format: image_folder, directory: {}, image_size: [4, 4]}}", directory), kTable,
                 "input_shape: [2]\n  layers:\n", "input_shape: [4, 4, 3]\n  layers:\n    - flatten\n");
  };
  const Outcome outcome = check_folder("pictures");
  CHECK(outcome.exit_code == 1);
  CHECK_MESSAGE(contains(outcome.err, "if the classes are the folders in it, write directory: "), outcome.err);
  CHECK_MESSAGE(contains(outcome.err, (folder / "pictures/train").string() + "\n"), outcome.err);
  CHECK(check_folder("pictures/train").exit_code == 0);
  const Outcome named = check("{format: image_folder, path: pictures/train}", kTable);
  CHECK_MESSAGE(contains(named.err, "data.train.path: unknown key; did you mean 'directory'?"), named.err);
}

TEST_CASE_FIXTURE(Fixture, "weights of another program's format are told as what they have to be") {
  write_file(folder / "w.pt", std::string(100, 'x'));
  const Outcome outcome = check(kSource, kTable, "model:\n", "model:\n  initial_weights: w.pt\n");
  CHECK(outcome.exit_code == 1);
  CHECK_MESSAGE(contains(outcome.err, "not a safetensors file, which other programs have to save their weights as"),
                outcome.err);
}

TEST_CASE_FIXTURE(Fixture, "labels that are no classes of the loss get the loss that takes them") {
  const std::string numbers = "a,b,y\n1,2,0.5\n3,1,1.5\n2,5,2.5\n";
  const Outcome as_classes = check(kSource, numbers);
  CHECK_MESSAGE(contains(as_classes.err,
                         "label 0.5 is no number of a class, 0 to 2; correct it, or take mean_squared_error, which "
                         "trains numbers"),
                as_classes.err);
  const std::string loss = "    - dense: {units: 3}\nloss: {type: sparse_categorical_crossentropy, from_logits: true}";
  CHECK(check(kSource, numbers, loss, "    - dense: {units: 1}\nloss: mean_squared_error").exit_code == 0);
  const Outcome as_one =
      check(kSource, kTable, loss, "    - dense: {units: 1, activation: sigmoid}\nloss: binary_crossentropy");
  CHECK_MESSAGE(contains(as_one.err,
                         "label 2 is not between 0 and 1, as the loss wants it; for numbers of classes take "
                         "sparse_categorical_crossentropy, with an output for each class"),
                as_one.err);
  CHECK(check(kSource, kTable).exit_code == 0);
  const std::string signs = "a,b,y\n1,2,-1\n3,1,1\n2,5,-1\n";
  const std::string two = "    - dense: {units: 2}\nloss: {type: sparse_categorical_crossentropy, from_logits: true}";
  CHECK(contains(check(kSource, signs, loss, two).err,
                 "label -1 is not one of the 2 classes 0 to 1; correct it; where the classes are -1 and 1, write 0"));
  CHECK(contains(
      check(kSource, signs, loss, "    - dense: {units: 1}\nloss: {type: binary_crossentropy, from_logits: true}").err,
      "; where the classes are -1 and 1, write 0 for -1, or take the loss hinge"));
  CHECK(contains(check(kSource, "a,b,y\n1,2,0.5\n3,1,-6.5\n2,5,0\n", loss,
                       "    - dense: {units: 1, activation: sigmoid}\nloss: binary_crossentropy")
                     .err,
                 "label -6.5 is not between 0 and 1, as the loss wants it; to train numbers of any size take "
                 "mean_squared_error"));
  CHECK(contains(check(kSource, "a,b,y\n1,2,0\n3,1,nan\n2,5,2\n").err,
                 "found 'nan'; correct it, remove the row, or write labels: {column: ..., missing: ignore}, with which "
                 "such an example counts nothing, and list it, as missing_values: [\"nan\"]"));
  CHECK(contains(check(kSource, "a,b,y\ninf,2,0\n3,1,1\n2,5,2\n").err, "found 'inf'; correct it or remove the row"));
}

TEST_CASE_FIXTURE(Fixture, "outputs without an example are counted, with how many there should be") {
  const std::string last = "units: 3";
  CHECK(contains(check(kSource, kTable, last, "units: 100").err,
                 "the labels are 0, 1, 2, so that 97 of the model's 100 outputs have no example; give the last layer 3 "
                 "units"));
  CHECK(contains(check(kSource, "a,b,y\n1,2,1\n3,1,2\n2,5,1\n").err, "classes count from 0: number them 0 to 1"));
}

}  // namespace
}  // namespace mirrortrain::testing::table_mistakes_test
