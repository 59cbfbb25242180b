// Parquet files with what few tables have: tools/reference/parquet_tables.py.
#include <doctest/doctest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/files.h"
#include "data/files.h"
#include "data/files/parquet_input.h"
#include "data/loading/load.h"
#include "data/tables/csv_rows.h"
#include "data/tables/parquet.h"

namespace mirrortrain::data {
namespace {

std::string path_of(std::string_view name) {
  return (std::filesystem::path(MIRRORTRAIN_SOURCE_DIR) / "tests/formats" / name).string();
}

std::string lines_of(const std::string& path) {
  ParquetInput input(path, std::nullopt);
  return read_text(input);
}

/// Whether this program cannot read Parquet, which it says.
bool cannot_read() {
  return contains(error_text([] { lines_of(path_of("small.parquet")); }), "this program cannot read Parquet");
}

std::string error_of(const std::string& path) {
  return error_text([&] { lines_of(path); });
}

DataOptions words_as_classes(const std::string& file) {
  Parquet source;
  source.file = config::Path{file};
  source.labels = labels_in("label");
  source.encoding.entries.emplace_back("sep=", OneHotEncoding{});
  DataOptions options;
  options.train.value = source;
  return options;
}

TEST_CASE("values of every type in Parquet are the cells that say them") {
  if (cannot_read()) return;
  CHECK(lines_of(path_of("values.parquet")) ==
        "\"whole\",\"half\",\"decimal\",\"large\",\"view\",\"number_word\",\"zoned\",\"time\",\"took\",\"json\","
        "\"flag\",\"nothing\"\n"
        "100000,0.0999755859375,-0.01,18446744073709551615,\"red\",7,\"2024-02-29 "
        "13:05:06.123456Z\",\"01:02:03\","
        "1.5,\"{\"\"a\"\":1}\",1,\n"
        ",65504,1.50,0,\"a word longer than twelve bytes\",,\"2024-02-29 13:05:06.123456Z\",\"01:02:03\",,,0,\n"
        "9007199254740992,5.960464477539063e-08,0.00,9007199254740993,\"\",8,\"2024-02-29 13:05:06.123456Z\","
        "\"01:02:03\",1.5,\"{\"\"a\"\":1}\",,\n"
        "1e+16,-2,99.99,1,,7,\"2024-02-29 13:05:06.123456Z\",\"01:02:03\",,,1,\n");
  // Which nanoseconds do not reach.
  CHECK(lines_of(path_of("int96.parquet")) == "\"time\"\n\"0001-01-01 00:00:00\"\n\"9999-12-31 00:00:00.5\"\n");
}

TEST_CASE("words of Parquet are words, also where lines of CSV would take them for something else") {
  if (cannot_read()) return;
  const TemporaryFolder folder;
  DataOptions options = words_as_classes(path_of("words.parquet"));
  options.cache_directory = config::Path{folder.path("cache")};
  for (const bool in_memory : {true, false}) {
    if (!in_memory) options.memory = config::Size{1};
    const Splits splits = load(options, 0, nullptr);
    CHECK(splits.train.rows() == 20);  // a row has the words of the header
    if (in_memory) CHECK(splits.train.features(0).shape == Shape{20, 4});
    CHECK(splits.adapted.classes_of("") == std::vector<std::string>{"a", "b", "label"});
  }
  Csv table;
  table.labels = labels_in("label");
  CsvRows rows(TextAhead(std::make_unique<StreamInput>(path_of("words.parquet"), nullptr)), table, nullptr);
  rows.want({"sep="});
  std::vector<std::string> found;
  while (const auto part = rows.next(3)) {
    for (const auto& cells : part->cells) found.push_back(cells.front());
  }
  REQUIRE(found.size() == 20);
  CHECK(found[0] == "sep=");
  CHECK(found[1] == std::string("y\0z", 3));
}

TEST_CASE("a flipped bit in a page of Parquet that has a checksum is an error, and no other words") {
  if (cannot_read()) return;
  const TemporaryFolder folder;
  const std::string whole = read_text_file(path_of("words.parquet")), lines = lines_of(path_of("words.parquet"));
  const std::size_t pages = whole.rfind("\x15\x04\x19", whole.size());  // where the footer begins
  REQUIRE(pages != whole.npos);
  int refused = 0;
  for (std::size_t i = 4; i < pages; ++i) {
    std::string flipped = whole;
    flipped[i] = static_cast<char>(flipped[i] ^ 1 << i % 7);
    const std::string file = folder.write("flipped.parquet", flipped);
    std::string found;
    const std::string error = error_text([&] { found = lines_of(file); });
    CAPTURE(i);
    if (error == "no error") {
      CHECK(found == lines);
    } else {
      CHECK(contains(error, "flipped.parquet: this Parquet file cannot be read: "));
      ++refused;
    }
  }
  CHECK(refused > static_cast<int>(pages) / 2);
}

TEST_CASE("Parquet with fewer rows than it announces, or encrypted, is refused with what to do") {
  if (cannot_read()) return;
  CHECK(
      contains(error_of(path_of("rows.parquet")), "it announces 21 rows, and its columns have 20; get the file again"));
  for (const char* file : {"encrypted.parquet", "encrypted-column.parquet"}) {
    const std::string error = error_of(path_of(file));
    CHECK(is_parquet_file(path_of(file)));
    CHECK_MESSAGE(contains(error, "it is encrypted, so save it once more without encryption"), error);
  }
  const TemporaryFolder folder;
  const std::string packed = folder.write("words.parquet.gz", gzip(read_text_file(path_of("words.parquet"))));
  CHECK(contains(error_text([&] { load(words_as_classes(packed), 0, nullptr); }),
                 "found a Parquet file that was compressed as a whole; unpack it"));
}

TEST_CASE("a table in text whose first column is named as Parquet begins is one in text") {
  const TemporaryFolder folder;
  for (const char* name : {"PAR1", "PAR1_a", "PARENT", "\"PAR1\""}) {
    const std::string file = folder.write("a.csv", std::string(name) + ",label\n1,a\n2,b\n");
    CHECK_FALSE(is_parquet_file(file));
    Csv source;
    source.file = config::Path{file};
    source.labels = labels_in("label");
    DataOptions options;
    options.train.value = source;
    CHECK(load(options, 0, nullptr).train.rows() == 2);
  }
}

}  // namespace
}  // namespace mirrortrain::data
