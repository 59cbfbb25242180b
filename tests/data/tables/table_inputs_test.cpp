// Tables whose columns go to several inputs and outputs by name.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <memory>
#include <sstream>

#include "base/files.h"
#include "base/json.h"
#include "data/feeding/example_weights.h"
#include "data/files.h"
#include "data/fingerprint.h"
#include "data/loading/load.h"
#include "data/loading/new_data.h"

namespace mirrortrain::data {
namespace {

namespace fs = std::filesystem;

/// Two outputs, `price` of any number and `kind` of classes, and the inputs of `table`.
ExampleSpec spec_of(const std::vector<std::string>& inputs) {
  ExampleSpec spec;
  for (const std::string& name : inputs) spec.inputs.push_back({name, Shape{}, "model.inputs." + name});
  spec.labels.push_back({"price", Shape{}});
  LabelSpec kind{"kind", Shape{}, DType::kInt32};
  kind.classes = 2;
  spec.labels.push_back(kind);
  return spec;
}

class Shop {
 public:
  explicit Shop(const std::string& rows, const std::string& header = "id,color,size,photo,note,price,kind,w") {
    fs::copy_file(fs::path(MIRRORTRAIN_SOURCE_DIR) / "tests/pictures/rgb.png", folder_.path("a.png"));
    folder_.write("words.txt", "_\n \nnew\nold\ne\n");
    csv.file = config::Path{folder_.write("a.csv", header + "\n" + rows)};
    csv.labels.named.entries = {
        {"price", {CsvLabels(std::string("price")), {}, {}}},
        {"kind", {CsvLabels(LabelColumns{std::string("kind"), MissingLabel::kIgnore}), {}, {}}}};
  }

  void input(const std::string& name, CsvInput columns) {
    csv.inputs.entries.push_back({name, {std::move(columns), {}, {}}});
  }
  void text(std::int64_t length, bool has_vocabulary = true) {
    ContentColumn column{std::string("note"), CellContent::kText};
    column.length = length;
    if (has_vocabulary) column.vocabulary = config::Path{folder_.path("words.txt")};
    input("note", column);
  }
  /// The size, and a vector of the color's word.
  void look() {
    input("look", std::vector<CsvColumn>{std::string("size"), std::string("color")});
    csv.encoding.entries = {{"color", OneHotEncoding{}}};
  }
  void photo() { input("photo", ContentColumn{std::string("photo"), CellContent::kPicture}); }

  DataOptions options() const {
    DataOptions options;
    options.train.value = csv;
    options.on_bad_example = on_bad_example;
    return options;
  }
  Dataset train() const { return load(options(), 0, nullptr).train; }
  std::string error() const {
    return error_text([&] { train(); });
  }
  std::string path(std::string_view name) const { return folder_.path(name); }
  std::string write(std::string_view name, std::string_view content) { return folder_.write(name, content); }

  Csv csv;
  OnBadExample on_bad_example = OnBadExample::kError;

 private:
  TemporaryFolder folder_;
};

std::vector<double> numbers(const Array& array) {
  return with_element_type(array.dtype, [&](auto* type) {
    const auto span = array.span<std::remove_pointer_t<decltype(type)>>();
    return std::vector<double>(span.begin(), span.end());
  });
}

const std::string kRows =
    "1,red,2.5,a.png,new old,10,x,1\n"
    "2,blue,3.5,a.png,new,20,,2\n"
    "3,red,4.5,a.png,old new old new,30,y,0.5\n";

TEST_CASE("columns go to inputs by name: one number, several side by side, pictures and texts") {
  Shop shop(kRows);
  shop.input("id", std::string("id"));
  shop.input("same", std::vector<CsvColumn>{std::string("id")});
  shop.look();
  shop.input("color", std::string("color"));
  shop.photo();
  shop.text(4);
  const Dataset train = shop.train();
  REQUIRE(train.inputs().size() == 6);
  CHECK(train.features(0).shape == Shape{3});
  CHECK(numbers(train.features(0)) == std::vector<double>{1, 2, 3});
  CHECK(train.features(1).shape == Shape{3, 1});
  CHECK(train.features(2).shape == Shape{3, 3});
  CHECK(numbers(train.features(2)) == std::vector<double>{2.5, 0, 1, 3.5, 1, 0, 4.5, 0, 1});
  CHECK(train.features(3).shape == Shape{3, 2});  // a word's vector, in no list
  REQUIRE(train.source(4) != nullptr);
  CHECK(train.features(4).row_shape().rank() == 3);
  CHECK(train.source(4)->row_text(2) == shop.path("a.png"));
  CHECK(train.features(5).dtype == DType::kUint8);
  CHECK(numbers(train.features(5)) == std::vector<double>{2, 1, 3, 0, 2, 0, 0, 0, 3, 1, 2, 1});
}

TEST_CASE("without a vocabulary the tokens of a text are its bytes, padded or cut behind") {
  Shop shop(kRows);
  shop.text(3, false);
  CHECK(numbers(shop.train().features(0)) == std::vector<double>{'n', 'e', 'w', 'n', 'e', 'w', 'o', 'l', 'd'});
}

TEST_CASE("a label may be missing where that is ignored, and weights belong to the output that names them") {
  Shop shop(kRows);
  shop.input("id", std::string("id"));
  shop.csv.weights.emplace().named.entries = {{"price", {CsvColumn(std::string("w")), {}, {}}}};
  const Dataset train = shop.train();
  CHECK(train.outputs()[0].name == "price");
  CHECK_FALSE(train.outputs()[0].present);
  CHECK(weights_of(train, 0, {}) == std::vector<float>{1, 2, 0.5});
  CHECK(numbers(train.labels(1)) == std::vector<double>{0, 0, 1});
  CHECK(train.outputs()[1].is_present(0));
  CHECK_FALSE(train.outputs()[1].is_present(1));
  CHECK(weights_of(train, 1, {}) == std::vector<float>{1, 0, 1});

  shop.csv.labels.named.entries[1].second.value = std::string("kind");
  CHECK(
      contains(shop.error(), ":3: row 1 (counting from 0), column 6 ('kind'): expected a label, found an empty cell"));
  CHECK(contains(shop.error(), "or write labels: {kind: {column: ..., missing: ignore}}"));
}

TEST_CASE("marks of missing numbers are missing labels among numbers, and words where labels are words") {
  Shop shop("1,red,1,a.png,new,4,NA,1\n2,red,1,a.png,new,NA,b,1\n3,red,1,a.png,new,-1,?,1\n");
  shop.input("id", std::string("id"));
  for (auto& [name, labels] : shop.csv.labels.named.entries) {
    labels.value = LabelColumns{std::string(name), MissingLabel::kIgnore};
  }
  shop.csv.missing_values = {"?", "-1"};
  const Splits splits = load(shop.options(), 0, nullptr);
  CHECK(splits.adapted.classes_of("kind") == std::vector<std::string>{"NA", "b"});
  CHECK(splits.adapted.classes_of("price").empty());
  const auto present = [&](std::size_t output) { return presence_of(splits.train, output); };
  CHECK(present(0) == std::vector<float>{1, 0, 0});
  CHECK(present(1) == std::vector<float>{1, 1, 0});
}

TEST_CASE("marks of missing numbers are missing labels in whichever row they are") {
  for (const char* const mark : {"NA", "nan", "null", "None", "?"}) {
    for (const std::string& prices : {fmt::format("{},5,8", mark), fmt::format("5,{},8", mark),
                                      fmt::format(",{0},8", mark), fmt::format("{0},{0},8", mark)}) {
      CAPTURE(prices);
      std::string rows;
      std::vector<float> expected;
      std::istringstream cells(prices);
      for (std::string cell; std::getline(cells, cell, ',');) {
        rows += fmt::format("1,red,1,a.png,new,{},b,1\n", cell);
        expected.push_back(cell == "5" || cell == "8" ? 1.0f : 0.0f);
      }
      Shop shop(rows);
      shop.input("id", std::string("id"));
      shop.csv.labels.named.entries[0].second.value = LabelColumns{std::string("price"), MissingLabel::kIgnore};
      shop.csv.missing_values = {"?"};
      CHECK(presence_of(shop.train(), 0) == expected);
    }
  }
}

TEST_CASE("a column may be read as several things at once, each of which must take all of it") {
  Shop shop("1,red,2,a.png,7,10,x,1\n2,red,3,a.png,8,20,y,1\n");
  shop.input("number", std::string("note"));
  shop.text(2, false);
  shop.csv.labels.named.entries[0].second.value = std::string("note");
  const Dataset train = shop.train();
  CHECK(numbers(train.features(0)) == std::vector<double>{7, 8});
  CHECK(numbers(train.features(1)) == std::vector<double>{'7', 0, '8', 0});
  CHECK(numbers(train.labels(0)) == std::vector<double>{7, 8});
  shop.write("a.csv", "id,color,size,photo,note,price,kind,w\n1,red,2,a.png,7 up,10,x,1\n");
  CHECK(contains(shop.error(),
                 "column 4 ('note'): expected a number and then a comma or the end of the line, found '7 up'"));
}

TEST_CASE("what cells lack is told with row, column and remedy; such rows are left out of every array on request") {
  Shop shop(
      "1,red,1,none.png,new,1,x,1\n2,red,1,a.png,,2,y,1\n3,red,1,a.png,new "
      "n\xc3\xa9w,3,x,1\n4,blue,1,a.png,old,4,,1\n");
  shop.input("id", std::string("id"));
  shop.photo();
  shop.text(5);
  CHECK(contains(shop.error(), "a.csv:2: row 0 (counting from 0), column 3 ('photo'): there is no picture "));
  CHECK(contains(shop.error(), shop.path("none.png")));
  fs::copy_file(shop.path("a.png"), shop.path("none.png"));
  CHECK(contains(shop.error(), ":3: row 1 (counting from 0), column 4 ('note'): expected a text, found an empty cell"));
  shop.csv.missing = missing_in(MissingIsMean{});
  CHECK(contains(shop.error(), "row 2 (counting from 0), column 4 ('note'): expected a token of the vocabulary " +
                                   shop.path("words.txt") + ", found 'n\xc3\xa9w' at character 5 of the text"));
  shop.on_bad_example = OnBadExample::kSkip;
  fs::remove(shop.path("none.png"));
  const Dataset train = shop.train();
  REQUIRE(train.rows() == 2);
  CHECK(train.left_out()->rows == std::vector<std::int64_t>{0, 2});
  CHECK(numbers(train.features(0)) == std::vector<double>{2, 4});
  CHECK(train.source(1)->row_text(1) == shop.path("a.png"));
  CHECK(numbers(train.features(2)) == std::vector<double>{0, 0, 0, 0, 0, 3, 0, 0, 0, 0});
  CHECK(numbers(train.labels(0)) == std::vector<double>{2, 4});
  CHECK(presence_of(train, 1) == std::vector<float>{1, 0});
}

TEST_CASE("a path that leaves the table's folder is refused, a link that leads elsewhere is not") {
  Shop shop("1,red,1,elsewhere/a.png,new,1,x,1\n");
  fs::create_symlink(shop.path("."), shop.path("elsewhere"));
  shop.photo();
  CHECK(shop.train().rows() == 1);
  for (const std::string& outside :
       {std::string("../a.png"), shop.path("a.png"), std::string("elsewhere/../../a.png")}) {
    shop.write("a.csv", fmt::format("id,color,size,photo,note,price,kind,w\n1,red,2,{},7 up,10,x,1\n", outside));
    CHECK(contains(
        shop.error(),
        "column 3 ('photo'): expected the path of a picture below the table's folder, found '" + outside.substr(0, 2)));
  }
}

TEST_CASE("a path that the system refuses is one of no picture, and its row is left out on request") {
  for (const std::string& name : {std::string(300, 'x') + ".png", std::string(5000, 'x'), std::string("loop.png")}) {
    Shop shop(fmt::format("1,red,1,{},new,1,x,1\n2,red,1,a.png,new,2,y,1\n", name));
    fs::create_symlink(shop.path("loop.png"), shop.path("loop.png"));
    shop.photo();
    CHECK(contains(shop.error(), "a.csv:2: row 0 (counting from 0), column 3 ('photo'): there is no picture "));
    shop.on_bad_example = OnBadExample::kSkip;
    CHECK(shop.train().rows() == 1);
  }
}

TEST_CASE("parts of a table without its bad rows are those of a table that never had them") {
  // Of each kind: a picture that cannot be decoded, an id that the embedding lacks; all seen late.
  const auto loaded = [](bool has_bad, bool shuffles) {
    std::string rows;
    for (int row = 0; row < 24; ++row) {
      const bool is_bad = row == 2 || row == 3 || row == 11 || row == 17;
      if (is_bad && !has_bad) continue;
      rows += fmt::format("{},{},{},{},new,{},{},1\n", row == 11 ? 99 : row % 5, row % 3 == 0 ? "red" : "blue", row,
                          row != 11 && is_bad ? "broken.png" : "a.png", row, row % 2 == 0 ? "x" : "y");
    }
    Shop shop(rows);
    shop.write("broken.png", "not a picture");
    shop.input("id", std::string("id"));
    shop.photo();
    shop.look();
    shop.csv.missing = missing_in(MissingIsMean{});
    shop.on_bad_example = OnBadExample::kSkip;
    DataOptions options = shop.options();
    options.validation.value = ValidationFraction{0.25, shuffles, std::nullopt};
    ExampleSpec spec = spec_of({"id", "photo", "look"});
    spec.inputs[0].numbers_below = 5;
    return load(options, 7, &spec);
  };
  for (const bool shuffles : {false, true}) {
    const Splits bad = loaded(true, shuffles), good = loaded(false, shuffles);
    CHECK(numbers(bad.validation->labels(0)) == numbers(good.validation->labels(0)));
    CHECK(numbers(bad.train.labels(0)) == numbers(good.train.labels(0)));
    CHECK(numbers(bad.train.features(2)) == numbers(good.train.features(2)));
    CHECK(bad.adapted.classes_of("kind") == good.adapted.classes_of("kind"));
    CHECK(bad.train.left_out()->rows == std::vector<std::int64_t>{2, 3, 11, 17});
    CHECK(bad.train.left_out()->reasons.size() == 4);
  }
}

TEST_CASE("a class more than the model has outputs is no bad example, but an error") {
  // Skipped, one misspelt word would take the place of a class whose rows are right.
  Shop shop("1,red,1,a.png,new,1,x,1\n2,red,1,a.png,new,1,y,1\n3,red,1,a.png,new,1,a,1\n");
  shop.look();
  shop.on_bad_example = OnBadExample::kSkip;
  const ExampleSpec spec = spec_of({"look"});
  CHECK(contains(error_text([&] { load(shop.options(), 7, &spec); }),
                 "the labels of 'kind' have 3 classes (a, x, y), but the outputs of the model are 2"));
}

TEST_CASE("other splits and new data are matched by name, with what was adapted, also as a run kept it") {
  Shop shop(kRows);
  shop.look();
  shop.photo();
  shop.text(2);
  DataOptions options = shop.options();
  Csv test = shop.csv;
  test.inputs = {};  // those of the training data count
  test.encoding = {};
  test.file = config::Path{shop.write("b.csv", "kind,price,note,photo,color,size\ny,5,old,a.png,blue,9\n")};
  options.test.value = test;
  const ExampleSpec spec = spec_of({"look", "photo", "note"});
  const Splits splits = load(options, 0, &spec);
  REQUIRE(splits.test->inputs().size() == 3);
  CHECK(numbers(splits.test->features(0)) == std::vector<double>{9, 1, 0});
  CHECK(numbers(splits.test->features(2)) == std::vector<double>{3, 0});
  CHECK(numbers(splits.test->labels(1)) == std::vector<double>{1});
  splits.adapted.write(shop.path("classes.json"), shop.path("preprocessing.json"));
  CHECK(parse_json<nlohmann::json>(read_text_file(shop.path("classes.json"))) ==
        nlohmann::json({{"kind", {"x", "y"}}}));

  shop.write("words.txt", "none\n");  // not looked at any more
  const Adapted again = Adapted::read(shop.path("classes.json"), shop.path("preprocessing.json"));
  CHECK(again.classes_of("kind") == std::vector<std::string>{"x", "y"});
  CHECK(again.classes_of("price").empty());
  const std::string file = shop.write("new.csv", "size,note,photo,color\n1,new,a.png,red\n");
  const Dataset fresh = read_new(new_source(file, options), again, wanted_by(&spec, {}), OnBadExample::kError, 1);
  CHECK(numbers(fresh.features(0)) == std::vector<double>{1, 0, 1});
  CHECK(fresh.source(1)->row_text(0) == shop.path("a.png"));
  CHECK(numbers(fresh.features(2)) == std::vector<double>{2, 0});
  const auto known = load(options, 0, &spec, Split::kTest, &again);
  CHECK(fingerprint(known->dataset) == fingerprint(*splits.test));
}

TEST_CASE(
    "a drawn part has each class's share by the first output that has classes; an example without one is in either") {
  std::string rows;
  for (int i = 0; i < 40; ++i) {
    rows += fmt::format("{},red,1,a.png,new,{},{},1\n", i, i, i % 4 == 0 ? "x" : i % 4 == 1 ? "" : "y");
  }
  Shop shop(rows);
  shop.input("id", std::string("id"));
  DataOptions options = shop.options();
  options.validation.value = ValidationFraction{0.2, true};
  const ExampleSpec spec = spec_of({"id"});
  const Splits splits = load(options, 3, &spec);
  std::map<int, int> counts;
  const Labels& labels = splits.validation->outputs()[1];
  const std::vector<double> classes = numbers(labels.array);
  REQUIRE(splits.validation->rows() == 8);
  for (std::size_t row = 0; row < classes.size(); ++row) {
    ++counts[labels.is_present(static_cast<std::int64_t>(row)) ? static_cast<int>(classes[row]) : -1];
  }
  CHECK(counts == std::map<int, int>{{-1, 2}, {0, 2}, {1, 4}});
}

TEST_CASE("columns that the table lacks, or that are listed twice in one list, are refused at their key") {
  Shop shop(kRows);
  const config::Place place{std::make_shared<const std::string>("a.yaml"), 3, 4, nullptr};
  shop.csv.inputs.entries.push_back({"id", {CsvInput(std::string("ids")), place, "data.train.inputs.id"}});
  CHECK(contains(shop.error(), "a.yaml:3:4: data.train.inputs.id: " + shop.path("a.csv") +
                                   ": there is no column 'ids' in the header for 'inputs.id'; "));
  CHECK(contains(shop.error(), "did you mean 'id'?"));
  CHECK_THROWS_AS(shop.train(), UsageError);
  shop.csv.inputs.entries[0].second.value = std::vector<CsvColumn>{std::string("id"), std::int64_t{0}};
  CHECK(contains(shop.error(), "a column is listed twice in 'inputs.id'"));
  shop.csv.inputs.entries[0].second.value = std::string("note");
  CHECK(contains(shop.error(),
                 "a column of words needs an encoding, as in 'encoding: {note: one_hot}', or is left out "
                 "of 'inputs'"));
}

}  // namespace
}  // namespace mirrortrain::data
