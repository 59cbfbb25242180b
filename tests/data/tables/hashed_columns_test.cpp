// Columns of words by Keras's hashes, and columns that are crossed. Against tools/reference/binning.py.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "base/files.h"
#include "base/json.h"
#include "data/files.h"
#include "data/loading/load.h"
#include "data/loading/new_data.h"

namespace mirrortrain::data {
namespace {

using nlohmann::json;

json golden_words() { return parse_json<json>(read_text_file(MIRRORTRAIN_SOURCE_DIR "/tests/golden/binning.json")); }

class HashedTable {
 public:
  explicit HashedTable(const std::string& text) {
    csv.file = config::Path{folder_.write("a.csv", text)};
    csv.labels = labels_in(std::string("y"));
    csv.missing = missing_in(MissingIsConstant{});
  }
  void cross(const std::string& name, std::vector<CsvColumn> columns, std::int64_t bins,
             CellOutput output = CellOutput::kInt) {
    csv.crosses.entries.push_back({name, {{std::move(columns), {}, bins, output}, {}, {}}});
  }
  void list(std::vector<CsvColumn> columns) { csv.features = std::move(columns); }
  DataOptions options() const {
    DataOptions options;
    options.train.value = csv;
    return options;
  }
  Splits load_all() const { return load(options(), 0, nullptr); }
  std::vector<float> numbers() const { return features_of(load_all().train); }
  std::string error() const {
    return error_text([&] { load_all(); });
  }
  static std::vector<float> features_of(const Dataset& dataset) {
    const auto span = dataset.features(0).span<float>();
    return {span.begin(), span.end()};
  }
  std::string write(std::string_view name, std::string_view content) { return folder_.write(name, content); }
  std::string path(std::string_view name) const { return folder_.path(name); }

  Csv csv;

 private:
  TemporaryFolder folder_;
};

TEST_CASE("a hashed column has the numbers of Keras's Hashing, or a feature for each bin") {
  const json all = golden_words();
  int compared = 0;
  for (const json& one : all["cases"]) {
    if (!one["examples"][0].is_string()) continue;
    std::string text = "c,y\n";
    for (const json& word : one["examples"]) text += word.get<std::string>() + ",1\n";
    HashedTable table(text);
    const json& options = one["step"]["hashing"];
    HashingEncoding encoding{.num_bins = options["num_bins"]};
    if (options.contains("mask_value")) encoding.mask_value = options["mask_value"].get<std::string>();
    if (options.contains("salt") && options["salt"].is_array()) {
      encoding.salt = options["salt"].get<std::array<std::int64_t, 2>>();
    } else if (options.contains("salt")) {
      encoding.salt = options["salt"].get<std::int64_t>();
    }
    if (options.contains("output_mode")) encoding.output_mode = CellOutput::kOneHot;
    table.csv.encoding.entries = {{"c", encoding}};
    CHECK_MESSAGE(table.numbers() == one["made"].get<std::vector<float>>(), json_text(options));
    ++compared;
  }
  CHECK(compared == 9);
}

TEST_CASE("crossed columns have the numbers of Keras's HashedCrossing, in the order of the columns") {
  const json all = golden_words();
  for (const json& one : all["crossings"]) {
    std::string text, header;
    for (std::size_t row = 0; row < one["made"].size(); ++row) {
      for (const json& column : one["columns"]) text += column[row].get<std::string>() + ",";
      text += "1\n";
    }
    std::vector<CsvColumn> columns;
    for (std::size_t i = 0; i < one["columns"].size(); ++i) {
      columns.emplace_back(fmt::format("c{}", i));
      header += fmt::format("c{},", i);
    }
    HashedTable table(header + "y\n" + text);
    const bool is_one_hot = one["options"].contains("output_mode");
    table.cross("both", columns, one["options"]["num_bins"], is_one_hot ? CellOutput::kOneHot : CellOutput::kInt);
    for (const json& column : one["integers"]) {
      table.csv.crosses.entries.front().second.value.integers.push_back(columns[column.get<std::size_t>()]);
    }
    table.list({std::string("both")});
    std::vector<float> made;
    for (const json& row : one["made"]) {
      if (row.is_array()) {
        for (const json& number : row) made.push_back(number);
      } else {
        made.push_back(row);
      }
    }
    CHECK_MESSAGE(table.numbers() == made, json_text(one["options"]));
  }
}

TEST_CASE("a crossing is a column beside those of the file, also in other splits and in new data") {
  HashedTable table("a,b,n,y\nred,1,5,0\ngreen,2,6,1\nred,2,7,0\n");
  table.cross("ab", {std::string("a"), std::int64_t{1}}, 1000);
  table.csv.missing.reset();
  table.csv.encoding.entries = {{"a", HashingEncoding{.num_bins = 7}}};
  DataOptions options = table.options();
  Csv test = table.csv;
  test.file = config::Path{table.write("b.csv", "y,n,b,a\n1,6,2,green\n")};
  options.test.value = test;
  const Splits splits = load(options, 0, nullptr);
  CHECK(splits.train.features(0).shape == Shape{3, 4});  // a, b, n, and the crossing
  const auto of_train = HashedTable::features_of(splits.train), of_test = HashedTable::features_of(*splits.test);
  CHECK(of_test == std::vector<float>(of_train.begin() + 4, of_train.begin() + 8));
  CHECK(of_train[3] != of_train[11]);

  splits.adapted.write(table.path("classes.json"), table.path("preprocessing.json"));
  const Adapted kept = Adapted::read(table.path("classes.json"), table.path("preprocessing.json"));
  CHECK(kept.table->text_of(kept.table->features[3]) == "the crossing 'ab'");
  ExampleSpec spec;
  spec.inputs.push_back({"input", {4}, "model.input_shape"});
  spec.labels.push_back({"output", {1}});
  const Source source = new_source(table.write("c.csv", "b,n,a\n2,6,green\n"), options);
  const Dataset fresh = read_new(source, kept, wanted_by(&spec, {}), OnBadExample::kError, 1);
  CHECK(HashedTable::features_of(fresh) == of_test);
}

TEST_CASE("crossings that cannot be meant are refused at their place") {
  HashedTable table("a,b,y\nred,x,0\n,y,1\n");
  table.csv.missing.reset();
  table.cross("ab", {std::string("a"), std::string("b")}, 10);
  CHECK(contains(table.error(), "a column of words needs an encoding"));
  table.list({std::string("ab")});
  CHECK(contains(table.error(), ":3: row 1 (counting from 0), column 0 ('a'): expected a word, found an empty cell"));
  table.csv.missing = missing_in(MissingIsConstant{});
  CHECK(table.numbers().size() == 2);
  table.list({std::string("bc")});
  CHECK(contains(table.error(), "there is no column 'bc'"));
  table.cross("b", {std::string("a"), std::string("b")}, 10);
  CHECK(contains(table.error(), "there is a column 'b' already; give the crossing another name"));
  table.csv.crosses.entries.pop_back();
  table.list({std::string("ab")});
  table.cross("unused", {std::string("a"), std::string("b")}, 10);
  CHECK(contains(table.error(), "no input has this column; name it in 'features', or leave it out"));
  table.csv.crosses.entries.pop_back();
  table.cross("nested", {std::string("ab"), std::string("b")}, 10);
  table.list({std::string("ab"), std::string("nested")});
  CHECK(contains(table.error(), "there is no column 'ab'"));
  table.csv.crosses.entries.pop_back();
  table.cross("label", {std::string("a"), std::string("y")}, 10);
  table.list({std::string("label")});
  table.csv.crosses.entries.erase(table.csv.crosses.entries.begin());
  CHECK(contains(table.error(), "is taken twice, among labels, weights and features"));
  HashedCrossing& label = table.csv.crosses.entries.front().second.value;
  label.columns.back() = std::string("b");
  label.integers = {std::string("y")};
  CHECK(contains(table.error(), "'integers' has a column that is none of 'columns'"));
  label.integers = {std::string("b")};
  CHECK(contains(table.error(), ":2: row 0 (counting from 0), column 1 ('b'): expected a whole number, as the"));
}

}  // namespace
}  // namespace mirrortrain::data
