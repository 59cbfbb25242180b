// Tables with words, empty cells, other orders of columns, in several files.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/json.h"
#include "data/feeding/example_weights.h"
#include "data/files.h"
#include "data/fingerprint.h"
#include "data/loading/load.h"
#include "has_in_order.h"

namespace mirrortrain::data {
namespace {

class Tables {
 public:
  std::string write(std::string_view name, std::string_view content) { return folder_.write(name, content); }
  std::string path(std::string_view name) const { return folder_.path(name); }

  /// A table with its label in column `y`.
  Csv csv(std::string_view name, std::string_view content) {
    Csv csv;
    csv.file = config::Path{write(name, content)};
    csv.labels = labels_in(std::string("y"));
    return csv;
  }

 private:
  TemporaryFolder folder_;
};

DataOptions options_of(Csv train) {
  DataOptions options;
  options.train.value = std::move(train);
  return options;
}

std::vector<float> features(const Dataset& dataset) {
  const auto span = dataset.features(0).span<float>();
  const auto width = static_cast<std::size_t>(dataset.features(0).row_elements());
  const auto first = static_cast<std::size_t>(dataset.first_row()) * width;
  return {span.begin() + static_cast<std::ptrdiff_t>(first),
          span.begin() + static_cast<std::ptrdiff_t>(first + static_cast<std::size_t>(dataset.rows()) * width)};
}
std::vector<double> labels(const Dataset& dataset) {
  const auto span = dataset.labels(0).span<double>();
  return {span.begin() + dataset.first_row(), span.begin() + dataset.first_row() + dataset.rows()};
}

Splits load_all(const DataOptions& options) { return load(options, 0, nullptr); }
std::string error_of(const DataOptions& options) {
  return error_text([&] { load(options, 0, nullptr); });
}

TEST_CASE("words as labels are classes sorted by code point, and count for every split") {
  Tables tables;
  DataOptions options = options_of(tables.csv("a.csv", "x,y\n1,dog\n2,Zebra\n3,ärger\n4,cat\n5,dog\n"));
  options.test.value = tables.csv("b.csv", "x,y\n1,cat\n2,dog\n");
  const Splits splits = load_all(options);
  CHECK(splits.adapted.classes_of("") == std::vector<std::string>{"Zebra", "cat", "dog", "ärger"});
  CHECK(labels(splits.train) == std::vector<double>{2, 0, 3, 1, 2});
  CHECK(labels(*splits.test) == std::vector<double>{1, 2});
}

TEST_CASE("labels that only begin like numbers are words") {
  Tables tables;
  const Splits splits = load_all(options_of(tables.csv("a.csv", "x,y\n1,3D\n2,2nd part\n")));
  CHECK(splits.adapted.classes_of("") == std::vector<std::string>{"2nd part", "3D"});
}

TEST_CASE("a word that is no class, and words beside numbers, are refused with file, line and remedy") {
  Tables tables;
  const auto error = [&](std::string_view content) { return error_of(options_of(tables.csv("a.csv", content))); };
  CHECK(error("x,y\n1,0\n2,cat\n") ==
        tables.path("a.csv") +
            ":3: row 1 (counting from 0), column 1 ('y'): expected a finite number, found 'cat'; the labels before are "
            "numbers, so write all of them as numbers");
  CHECK(contains(error("x,y\n1,cat\n2,0\n"), ":3: row 1 (counting from 0), column 1 ('y'): expected a word as in the"));
  CHECK(contains(error("x,y\n1,cat\n2,\n"), "expected a label, found an empty cell"));
  CHECK(contains(error("x,y\n1,\xe9t\xe9\n"), "is not UTF-8; save the file as UTF-8"));

  DataOptions options = options_of(tables.csv("a.csv", "x,y\n1,cat\n2,dog\n"));
  options.test.value = tables.csv("b.csv", "x,y\n1,cat\n\n2,cow\n");
  CHECK(error_of(options) == tables.path("b.csv") +
                                 ": row 1 (counting from 0): the label 'cow' is none of the 2 classes of the training "
                                 "data (cat, dog); correct it");
  options.train.value = tables.csv("a.csv", "x,y\n1,0\n2,1\n");
  CHECK(contains(error_of(options), "the labels of the training data are numbers"));
}

TEST_CASE("words of several label columns are classes of one list, and a row with two that are none is left out once") {
  Tables tables;
  Csv csv = tables.csv("a.csv", "x,y,z\n1,dog,cat\n2,cat,ant\n3,dog,dog\n");
  csv.labels = labels_in(std::vector<CsvColumn>{std::string("z"), std::string("y")});
  DataOptions options = options_of(csv);
  csv.file = config::Path{tables.write("b.csv", "x,y,z\n1,cow,owl\n2,cat,dog\n3,dog,owl\n")};
  options.test.value = csv;
  CHECK(contains(error_of(options),
                 "row 0 (counting from 0): the label 'owl' is none of the 3 classes of the training "
                 "data (ant, cat, dog); correct it"));
  options.on_bad_example = OnBadExample::kSkip;
  const Splits splits = load_all(options);
  CHECK(splits.adapted.classes_of("") == std::vector<std::string>{"ant", "cat", "dog"});
  CHECK(splits.train.labels(0).shape == Shape{3, 2});
  const auto of_train = splits.train.labels(0).span<double>();
  CHECK(std::vector<double>(of_train.begin(), of_train.end()) == std::vector<double>{1, 2, 0, 1, 2, 2});
  REQUIRE(splits.test->rows() == 1);
  CHECK(splits.test->left_out()->rows == std::vector<std::int64_t>{0, 2});
  const auto of_test = splits.test->labels(0).span<double>();
  CHECK(std::vector<double>(of_test.begin(), of_test.end()) == std::vector<double>{2, 1});
}

TEST_CASE("words become one-hot vectors, indices and hashes in their column's place") {
  Tables tables;
  Csv csv = tables.csv("a.csv", "size,color,y,kind,name\n1,red,0,b,Ann\n2,blue,1,a,Bo\n3,red,0,b,Ann\n");
  csv.encoding.entries = {{"color", OneHotEncoding{}}, {"kind", IndexEncoding{}}, {"4", HashEncoding{100}}};
  DataOptions options = options_of(csv);
  options.test.value = tables.csv("b.csv", "size,color,y,kind,name\n9,blue,1,b,Zoë\n");
  const Splits splits = load_all(options);
  const float ann = 51;  // zlib.crc32(b"Ann") % 100 in Python
  const auto found = features(splits.train);
  CHECK(splits.train.features(0).shape == Shape{3, 5});
  CHECK(std::vector<float>(found.begin(), found.begin() + 4) == std::vector<float>{1, 0, 1, 1});
  CHECK(std::vector<float>(found.begin() + 5, found.begin() + 9) == std::vector<float>{2, 1, 0, 0});
  CHECK(found[4] == found[14]);
  CHECK(found[4] == ann);
  CHECK(splits.adapted.table->features[1].words == std::vector<std::string>{"blue", "red"});
  CHECK(features(*splits.test)[1] == 1);
}

TEST_CASE("a word that the training data does not have is refused, unless it is hashed") {
  Tables tables;
  Csv csv = tables.csv("a.csv", "c,y\nred,0\nblue,1\n");
  csv.encoding.entries = {{"c", OneHotEncoding{}}};
  DataOptions options = options_of(csv);
  options.test.value = tables.csv("b.csv", "c,y\ngreen,1\n");
  CHECK(has_in_order(error_of(options), {tables.path("b.csv") + ":2: row 0 (counting from 0), column 0 ('c'): ",
                                         "'green'", "(blue, red); ", "hash", "one_hot: {unknown: own_class}"}));
  csv.encoding.entries = {{"c", HashEncoding{}}};
  options.train.value = csv;
  CHECK(load_all(options).test->rows() == 1);
  csv.encoding.entries = {};
  CHECK(contains(error_of(options_of(csv)), "a column of words needs an encoding, as in 'encoding: {c: one_hot}'"));
  csv.encoding.entries = {{"y", OneHotEncoding{}}};
  CHECK(contains(error_of(options_of(csv)), "'encoding' is for features, and column 1 ('y') is none"));
  csv.encoding.entries = {{"d", OneHotEncoding{}}};
  CHECK(contains(error_of(options_of(csv)), "there is no column 'd' in the header for 'encoding'"));
}

TEST_CASE("empty cells are refused, or take the mean of the training split or a constant") {
  Tables tables;
  Csv csv = tables.csv("a.csv", "a,b,y\n1,5,0\n,7,1\n3,,0\n99,99,1\n");
  CHECK(
      contains(error_of(options_of(csv)), ":3: row 1 (counting from 0), column 0 ('a'): expected a number, found an"));
  csv.missing = missing_in(MissingIsMean{});
  DataOptions options = options_of(csv);
  options.validation.value = ValidationFraction{0.25, false};
  options.test.value = tables.csv("b.csv", "a,b,y\n,,0\n");
  const Splits splits = load_all(options);
  CHECK(features(splits.train) == std::vector<float>{1, 5, 2, 7, 3, 6});
  CHECK(features(*splits.test) == std::vector<float>{2, 6});

  csv.missing = missing_in(MissingIsConstant{-7.5});
  CHECK(features(load_all(options_of(csv)).train)[2] == -7.5f);
  csv = tables.csv("c.csv", "a,b,y\n1,,0\n2,,0\n");
  csv.missing = missing_in(MissingIsMean{});
  CHECK(contains(error_of(options_of(csv)), "column 1 ('b') has no number in the training data"));
}

TEST_CASE("an empty cell among words is a word of its own where it is allowed") {
  Tables tables;
  Csv csv = tables.csv("a.csv", "c,y\nred,0\n,1\n");
  csv.encoding.entries = {{"c", OneHotEncoding{}}};
  CHECK(contains(error_of(options_of(csv)), "expected a word, found an empty cell"));
  csv.missing = missing_in(MissingIsMean{});
  const Splits splits = load_all(options_of(csv));
  CHECK(splits.adapted.table->features[0].words == std::vector<std::string>{"", "red"});
  CHECK(features(splits.train) == std::vector<float>{0, 1, 1, 0});
}

TEST_CASE("other splits are matched by the names of columns: another order is reordered, other names are refused") {
  Tables tables;
  DataOptions options = options_of(tables.csv("a.csv", "a,b,y\n1,2,0\n"));
  options.test.value = tables.csv("b.csv", "y,b,a\n1,20,10\n");
  const Splits splits = load_all(options);
  CHECK(features(*splits.test) == std::vector<float>{10, 20});
  CHECK(labels(*splits.test) == std::vector<double>{1});

  options.test.value = tables.csv("b.csv", "a,bb,y\n1,2,0\n");
  CHECK(contains(error_of(options),
                 "there is no column 'b' in the header, which the training data has; the columns are"));
  options.test.value = tables.csv("b.csv", "a,b,c,y\n1,2,3,0\n");
  CHECK(contains(error_of(options), "the training data has no column 'c'"));
  Csv unnamed = tables.csv("b.csv", "1,2,3,4\n");
  unnamed.labels = labels_in(std::int64_t{3});
  options.test.value = unnamed;
  CHECK(contains(error_of(options), "expected 3 columns as in the training data, found 4"));
}

TEST_CASE("listed features are taken in their order, and other columns are passed over") {
  Tables tables;
  Csv csv = tables.csv("a.csv", "id,a,note,b,y\nx1,1,\"long; \"\"text\"\"\",2,0\n");
  csv.features = std::vector<CsvColumn>{std::string("b"), std::string("a")};
  DataOptions options = options_of(csv);
  options.test.value = tables.csv("b.csv", "more,a,b,y\nz,5,6,0\n");
  const Splits splits = load_all(options);
  CHECK(features(splits.train) == std::vector<float>{2, 1});
  CHECK(features(*splits.test) == std::vector<float>{6, 5});
  csv.features = std::vector<CsvColumn>{std::string("y")};
  CHECK(contains(error_of(options_of(csv)), "column 4 ('y') is taken twice"));
}

TEST_CASE("semicolons, tabs, quoted line ends and a byte order mark are read") {
  Tables tables;
  CHECK(features(load_all(options_of(tables.csv("a.csv", "a;b;y\n1;2;0\n"))).train) == std::vector<float>{1, 2});
  CHECK(features(load_all(options_of(tables.csv("a.tsv", "a\tb\ty\n1\t 2 \t0\n"))).train) == std::vector<float>{1, 2});
  Csv pipes = tables.csv("a.txt",
                         "\xef\xbb\xbf"
                         "a|y\r\n1|\"two\r\nlines\"\r\n2|\"two\r\nlines\"\r\n");
  pipes.delimiter = "|";
  const Splits splits = load_all(options_of(pipes));
  CHECK(splits.adapted.classes_of("") == std::vector<std::string>{"two\r\nlines"});
  Csv tab = tables.csv("b.tsv", "a\tb\ty\n\t2\t0\n");
  tab.missing = missing_in(MissingIsConstant{4});
  CHECK(features(load_all(options_of(tab)).train) == std::vector<float>{4, 2});
  CHECK(contains(error_of(options_of(tables.csv("a.csv", "a,y\n1,\"cat\n2,dog\n"))), "never closed"));
}

TEST_CASE("a list of files keeps its order, a glob is sorted, and an error names the file and its row") {
  Tables tables;
  Csv csv = tables.csv("part-2.csv", "x,y\n3,0\n");
  tables.write("part-10.csv", "y,x\n1,1\n0,2\n");
  csv.file = config::Path{tables.path("part-*.csv")};
  CHECK(features(load_all(options_of(csv)).train) == std::vector<float>{1, 2, 3});
  csv.file = std::vector<config::Path>{{tables.path("part-2.csv")}, {tables.path("part-10.csv")}};
  const Dataset listed = load_all(options_of(csv)).train;
  CHECK(features(listed) == std::vector<float>{3, 1, 2});
  CHECK(listed.labels(0).row_text(2) == tables.path("part-10.csv") + ":3: row 1 (counting from 0)");
  tables.write("part-10.csv", "y,x\n1,1\n0,two\n");
  CHECK(
      contains(error_of(options_of(csv)), tables.path("part-10.csv") + ":3: row 1 (counting from 0), column 1 ('x')"));
  csv.file = config::Path{tables.path("none-*.csv")};
  CHECK(contains(error_of(options_of(csv)), "no file matches this glob"));
  const std::filesystem::path below = tables.path("below");
  for (const char* const folder : {"a", "b[1]", ".hidden", "b[1]/c*"}) {
    std::filesystem::create_directories(below / folder);
    tables.write("below/" + std::string(folder) + "/rows.csv", fmt::format("x,y\n{},0\n", folder[0] == 'a' ? 1 : 2));
  }
  csv.file = config::Path{tables.path("below/**/*.csv")};
  CHECK(features(load_all(options_of(csv)).train) == std::vector<float>{1, 2, 2});  // brackets are part of a name
  csv.file = config::Path{tables.path("below/*/rows.csv")};
  CHECK(features(load_all(options_of(csv)).train) == std::vector<float>{1, 2});
  csv.file = config::Path{tables.path("below/b\\[1]/*.csv")};
  CHECK(features(load_all(options_of(csv)).train) == std::vector<float>{2});
  std::filesystem::create_symlink("loop", below / "loop");  // nobody can read it, not even root
  for (const char* const glob : {"below/*/rows.csv", "below/*/*.csv"}) {
    csv.file = config::Path{tables.path(glob)};
    CHECK(contains(error_of(options_of(csv)), "cannot be read, so that its files would be left out"));
  }

  Npy npy_files;
  tables.write("f0.npy", npy("<f4", false, "(1, 2)", bytes_of<float>({1, 2})));
  tables.write("f1.npy", npy("<f4", false, "(2, 2)", bytes_of<float>({3, 4, 5, 6})));
  tables.write("l0.npy", npy("<f8", false, "(3,)", bytes_of<double>({0, 1, 2})));
  npy_files.features = config::Path{tables.path("f?.npy")};
  npy_files.labels.one = config::Path{tables.path("l0.npy")};
  DataOptions options;
  options.train.value = npy_files;
  CHECK(features(load_all(options).train) == std::vector<float>{1, 2, 3, 4, 5, 6});
  tables.write("f1.npy", npy("<f4", false, "(2, 3)", bytes_of<float>({3, 4, 5, 6, 7, 8})));
  CHECK(contains(error_of(options), "f1.npy: expected rows of float32 [2] as in"));
}

TEST_CASE("a table's fingerprint is that of its rows, whatever else its file holds") {
  Tables tables;
  const auto of = [&](std::string_view content) {
    return fingerprint(load_all(options_of(tables.csv("a.csv", content))).train);
  };
  CHECK(of("x,y\n1,2\n3,4\n") == of("\n\nx,y\n\n\n1,2\n\n\n\n\n\n\n3,4\n\n\n\n"));
  CHECK(of("x,y\n1,2\n3,4\n") != of("x,y\n1,2\n3,5\n"));
  const auto weighted = [&](std::string_view content) {
    Csv csv = tables.csv("a.csv", content);
    csv.weights = weights_in(CsvColumn("w"));
    return fingerprint(load_all(options_of(csv)).train);
  };
  CHECK(weighted("x,w,y\n1,2,3\n") == weighted("x,y,w\n1,3,2\n"));
  CHECK(weighted("x,w,y\n1,2,3\n") != weighted("x,w,y\n1,2.5,3\n"));
}

TEST_CASE("a split that names no weights counts all examples alike, with or without such a column in its file") {
  Tables tables;
  Csv weighted = tables.csv("a.csv", "x,w,z,y\n1,2,3,4\n5,6,7,8\n");
  weighted.weights = weights_in(CsvColumn("w"));
  DataOptions options = options_of(weighted);
  const std::vector<float> ones(1, 1.0f);
  for (const char* content : {"x,z,y\n10,30,40\n", "y,x,w,z\n40,10,0,30\n", "x,w,z,y\n10,0,30,40\n"}) {
    options.validation.value = tables.csv("b.csv", content);
    const Splits splits = load_all(options);
    CHECK(weights_of(splits.train, 0, {}) == std::vector<float>{2, 6});
    CHECK(features(*splits.validation) == std::vector<float>{10, 30});
    CHECK(labels(*splits.validation) == std::vector<double>{40});
    CHECK_FALSE(splits.validation->outputs()[0].weights);
    CHECK(weights_of(*splits.validation, 0, {}) == ones);
  }
  Csv other = tables.csv("b.csv", "x,z,y\n10,30,40\n");
  other.weights = weights_in(CsvColumn("w"));
  options.validation.value = other;
  CHECK(contains(error_of(options),
                 "there is no column 'w' in the header for 'weights'; the columns are x, z, y; "
                 "without 'weights' every example counts 1"));

  weighted = tables.csv("a.csv", "1,2,3,4\n5,6,7,8\n");  // by number
  weighted.weights = weights_in(CsvColumn(1));
  weighted.labels = labels_in(CsvColumns(std::int64_t{3}));
  options = options_of(weighted);
  other = tables.csv("b.csv", "10,30,40\n");
  other.labels = labels_in(CsvColumns(std::int64_t{2}));
  options.validation.value = other;
  CHECK(features(*load_all(options).validation) == std::vector<float>{10, 30});
  CHECK(labels(*load_all(options).validation) == std::vector<double>{40});
  tables.csv("b.csv", "10,40\n");
  CHECK(contains(error_of(options), "b.csv: expected 4 columns as in the training data, found 2"));
}

TEST_CASE("validation drawn by the seed keeps each row's label and its place in messages") {
  Tables tables;
  std::string content = "x,y\n";
  for (int i = 0; i < 100; ++i) content += std::to_string(i) + "," + std::to_string(i * 2) + "\n";
  DataOptions options = options_of(tables.csv("a.csv", content));
  options.validation.value = ValidationFraction{0.2, true};
  const Splits splits = load_all(options);
  CHECK(splits.train.rows() == 80);
  CHECK(splits.validation->rows() == 20);
  const auto x = features(*splits.validation);
  const auto y = labels(*splits.validation);
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(static_cast<double>(x[i]) * 2 == y[i]);
  CHECK(std::is_sorted(x.begin(), x.end()));
  CHECK(x.front() < 70);  // not the last twenty
  CHECK(contains(splits.validation->labels(0).row_text(0), fmt::format(":{}: row {}", x[0] + 2, x[0])));
  CHECK(features(*load(options, 1, nullptr).validation) != x);
  CHECK(features(load(options, 0, nullptr, Split::kValidation, nullptr)->dataset) == x);
}

TEST_CASE("what was adapted is written and read again as it was") {
  Tables tables;
  Csv csv = tables.csv("a.csv", "size,color,y,name\n1,red,no,Ann\n,\"blue\nish\",yes,Bo\n");
  csv.encoding.entries = {{"color", OneHotEncoding{}}, {"name", HashEncoding{10}}};
  csv.missing = missing_in(MissingIsMean{});
  DataOptions options = options_of(csv);
  options.test.value = tables.csv("b.csv", "color,y,name,size\nred,yes,Cy,\n");
  const Splits splits = load_all(options);
  splits.adapted.write(tables.path("classes.json"), tables.path("preprocessing.json"));
  CHECK(parse_json<nlohmann::json>(read_text_file(tables.path("classes.json"))) == nlohmann::json({"no", "yes"}));

  const Adapted again = Adapted::read(tables.path("classes.json"), tables.path("preprocessing.json"));
  tables.write("a.csv", "size,color,y,name\n7,mauve,maybe,Al\n");  // not looked at any more
  const auto test = load(options, 0, nullptr, Split::kTest, &again);
  CHECK(features(test->dataset) == features(*splits.test));
  CHECK(labels(test->dataset) == std::vector<double>{1});
  tables.write("preprocessing.json", "{\"table\": {\"columns\": -3}}");
  CHECK(contains(error_text([&] { Adapted::read(tables.path("classes.json"), tables.path("preprocessing.json")); }),
                 "preprocessing.json: damaged: "));
}

TEST_CASE("sizes that a damaged file of a run has are refused") {
  Tables tables;
  const auto error = [&](const std::string& input) {
    tables.write("preprocessing.json",
                 fmt::format(R"({{"table": {{"columns": 2, "header": [], "lists_features": true, "features": [],
                               "labels": [1], "weights": null, "inputs": {{"a": {}}}}}}})",
                             input));
    return error_text([&] { Adapted::read(tables.path("classes.json"), tables.path("preprocessing.json")); });
  };
  const std::string text = R"({"as": "text", "column": 0, "vocabulary": [], "may_be_empty": false, "length": )";
  CHECK(error(text + "5}") == "no error");
  CHECK(contains(error(text + "-1}"), "preprocessing.json: damaged: a size of -1; restore the file"));
  const std::string picture = R"({"as": "picture", "column": 0, "color": "rgb", "image_size": )";
  CHECK(error(picture + "[3, 5]}") == "no error");
  CHECK(contains(error(picture + "[3, 0]}"), "preprocessing.json: damaged: a size of 0"));
}

}  // namespace
}  // namespace mirrortrain::data
