#include "data/tables/parquet.h"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "base/files.h"
#include "data/files.h"
#include "data/files/parquet_input.h"
#include "data/loading/load.h"
#include "data/tables/csv_table.h"

namespace mirrortrain::data {
namespace {

// Written by pyarrow: tools/reference/data_formats.py.
const std::filesystem::path kFormats = std::filesystem::path(MIRRORTRAIN_SOURCE_DIR) / "tests/formats";
const std::string kTable = (kFormats / "table.parquet").string(), kSmall = (kFormats / "small.parquet").string();

std::string text_of(const std::string& path, const std::optional<std::set<std::string>>& wanted = std::nullopt) {
  ParquetInput input(path, wanted);
  return read_text(input);
}

/// Whether this program cannot read Parquet, which it says.
bool is_without_parquet() {
  return contains(error_text([] { text_of(kSmall); }), "this program cannot read Parquet");
}

DataOptions options_of(Source source) {
  DataOptions options;
  options.train.value = std::move(source);
  return options;
}

Parquet table(const std::string& file, std::vector<CsvColumn> features) {
  Parquet source;
  source.file = config::Path{file};
  source.labels = labels_in("label");
  if (!features.empty()) source.features = std::move(features);
  return source;
}

TEST_CASE("rows of Parquet are lines of CSV that say the same") {
  if (is_without_parquet()) return;
  CHECK(
      text_of(kSmall) ==
      "\"f\",\"label\"\n0.25,\"a\"\n1.5,\"b\"\n2.75,\"a\"\n4,\"b\"\n5.25,\"a\"\n6.5,\"b\"\n7.75,\"a\"\n9,\"b\"\n10.25,"
      "\"a\"\n11.5,\"b\"\n");
  const std::string all = text_of(kTable);
  CHECK(contains(all, "\n0.25,0.1,-5,0,1,\"red\",\"red\",,,\"2024-02-29\",12.50,,\"a\"\n"));
  CHECK(contains(all, "\n1.5,1e+30,4611686018427387904,1,0,\"green\",\"green\",,,"));
  CHECK(contains(all, "\n2.75,,,2,,\"dark \"\"blue\"\"\",\"dark \"\"blue\"\"\",,,"));
  CHECK(contains(all, "\n4,nan,3,3,1,\"a,b\",\"a,b\",,,"));
  CHECK(contains(all, "\n5.25,-0,4,4,1,,,,,"));
  CHECK(contains(all, "\"two\nlines\",\"two\nlines\""));
  CHECK(contains(text_of(kTable, std::set<std::string>{"d", "label"}), "\n,0.1,,,,,,,,,,,\"a\"\n"));
  CHECK(contains(text_of(kSmall, std::set<std::string>{"label"}), "\n,\"b\"\n"));
}

TEST_CASE("a table in Parquet gives the examples of the same table in CSV") {
  if (is_without_parquet()) return;
  const TemporaryFolder folder;
  Parquet source = table(kTable, {"f", "d", "i", "u", "yes", "price", "color", "word", "day"});
  source.missing = missing_in(MissingIsMean{});
  for (const char* column : {"color", "word", "day"}) source.encoding.entries.emplace_back(column, OneHotEncoding{});
  Csv same = source;
  same.file = config::Path{folder.write("table.csv", text_of(kTable))};
  const Dataset parquet = load(options_of(source), 0, nullptr).train, csv = load(options_of(same), 0, nullptr).train;
  REQUIRE(parquet.features(0).shape == csv.features(0).shape);
  REQUIRE(parquet.features(0).dtype == csv.features(0).dtype);
  CHECK(std::memcmp(parquet.features(0).bytes.data(), csv.features(0).bytes.data(),
                    static_cast<std::size_t>(csv.rows()) * csv.features(0).row_bytes()) == 0);
  CHECK(parquet.rows() == 10);
  CHECK(parquet.features(0).row_text(3) == kTable + ": row 3 (counting from 0)");
  // Numbers of float32 stay so.
  CHECK(load(options_of(table(kTable, {"f", "u"})), 0, nullptr).train.features(0).dtype == DType::kFloat32);
}

TEST_CASE("columns that are no cells are refused by name where they are used") {
  if (is_without_parquet()) return;
  const auto error = [](const Parquet& source) { return error_text([&] { load(options_of(source), 0, nullptr); }); };
  CHECK(contains(error(table(kTable, {"f", "list"})), "table.parquet: column 7 ('list') is nested (list<"));
  CHECK(contains(error(table(kTable, {"struct"})), "column 8 ('struct') is nested (struct<"));
  CHECK(contains(error(table(kTable, {"bytes"})), "column 11 ('bytes') has bytes that are no text (binary)"));
  CHECK(contains(error(table(kTable, {})), "is nested"));
  CHECK(contains(error(table(kTable, {"nothing"})), "there is no column 'nothing' in the header"));
  CHECK(contains(error(table(kTable, {"d"})),
                 "table.parquet: row 2 (counting from 0), column 1 ('d'): expected a number"));
  CHECK(contains(error(table(kTable, {"color"})), "expected a finite number, found"));
}

TEST_CASE("damaged Parquet is refused by name") {
  if (is_without_parquet()) return;
  const TemporaryFolder folder;
  const std::string whole = read_text_file(kTable);
  for (std::size_t bytes = 4; bytes < whole.size(); bytes += 400) {
    const std::string file = folder.write("cut.parquet", whole.substr(0, bytes));
    CHECK(contains(error_text([&] { text_of(file); }), "cut.parquet: this Parquet file cannot be read: "));
  }
  CHECK_FALSE(is_parquet_file(folder.write("a.csv", "PAR")));
}

TEST_CASE("tables that zstd compressed are read, in one frame or several") {
  for (const char* name : {"small.csv.zst", "frames.csv.zst"}) {
    const std::string file = (kFormats / name).string();
    Csv source;
    source.file = config::Path{file};
    source.labels = labels_in("label");
    const std::string error = error_text([&] {
      const Dataset train = load(options_of(source), 0, nullptr).train;
      CHECK(train.rows() == 10);
      CHECK(train.features(0).span<float>()[9] == 11.5F);
    });
    CHECK((error == "no error" || contains(error, "was built without the library")));
    if (error != "no error") return;
    const TemporaryFolder folder;
    const std::string whole = read_text_file(file);
    source.file = config::Path{folder.write("cut.csv.zst", whole.substr(0, whole.size() - 3))};
    CHECK(contains(error_text([&] { load(options_of(source), 0, nullptr); }),
                   "the compressed data is damaged or incomplete"));
  }
}

}  // namespace
}  // namespace mirrortrain::data
