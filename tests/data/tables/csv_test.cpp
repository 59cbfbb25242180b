#include <doctest/doctest.h>

#include <bit>
#include <charconv>
#include <numeric>

#include "data/files.h"
#include "data/tables/csv_table.h"
#include "data/tables/csv_text.h"
#include "has_in_order.h"

namespace mirrortrain::data {
namespace {

class Reader {
 public:
  Examples operator()(std::string_view content, CsvColumns labels, std::optional<bool> header = std::nullopt) const {
    Csv csv;
    csv.file = config::Path{folder_.write("a.csv", content)};
    csv.labels = labels_in(labels);
    csv.header = header;
    return table(csv);
  }
  /// As training data.
  static Examples table(const Csv& csv) {
    CsvTable table = read_table(csv, {});
    std::vector<std::int64_t> rows(static_cast<std::size_t>(table.features.rows()));
    std::iota(rows.begin(), rows.end(), std::int64_t{0});
    const Adapted adapted{sorted_classes(table), adapted_table(table, csv, rows)};
    return encoded(std::move(table), adapted);
  }
  std::string error(std::string_view content, CsvColumns labels, std::optional<bool> header = std::nullopt) const {
    return error_text([&] { (*this)(content, labels, header); });
  }
  std::string path() const { return folder_.path("a.csv"); }

 private:
  TemporaryFolder folder_;
};

std::vector<float> features(const Examples& examples) {
  return with_element_type(examples.inputs[0].array.dtype, [&](auto* type) {
    const auto span = examples.inputs[0].array.span<std::remove_pointer_t<decltype(type)>>();
    std::vector<float> floats;
    for (const auto value : span) floats.push_back(static_cast<float>(value));
    return floats;
  });
}
std::vector<double> labels(const Examples& examples) {
  const auto span = examples.outputs[0].array.span<double>();
  return {span.begin(), span.end()};
}

const std::string kName = "species";

TEST_CASE("csv columns that are no label are the features, in file order") {
  const Reader read;
  const Examples examples = read("width,species,height\n1,0,2.5\n-3e2,1,.5\n", kName);
  CHECK(examples.inputs[0].array.shape == Shape{2, 2});
  CHECK(examples.outputs[0].array.shape == Shape{2});
  CHECK(features(examples) == std::vector<float>{1, 2.5f, -300, 0.5f});
  CHECK(labels(examples) == std::vector<double>{0, 1});
}

TEST_CASE("csv labels may be several columns, by name and by number, in the order asked for") {
  const Reader read;
  const Examples examples = read("a,b,c\n1,2,3\n4,5,6\n", std::vector<CsvColumn>{std::string("c"), std::int64_t{0}});
  CHECK(examples.outputs[0].array.shape == Shape{2, 2});
  CHECK(labels(examples) == std::vector<double>{3, 1, 6, 4});
  CHECK(features(examples) == std::vector<float>{2, 5});
}

TEST_CASE("csv is read with quotes, CRLF, spaces, blank lines, a byte order mark and without a last newline") {
  const Reader read;
  const Examples examples =
      read("\xef\xbb\xbf\"a \"\"x\"\", b\" , \"c\"\r\n\r\n\"1\" ,\t+2\r\n 3,\"4\" \r\n\r\n", std::string("c"));
  CHECK(features(examples) == std::vector<float>{1, 3});
  CHECK(labels(examples) == std::vector<double>{2, 4});
  CHECK(labels(read("a,b\n\n1,2\n   \n3,4", std::int64_t{1})) == std::vector<double>{2, 4});
  CHECK(features(read("a,b\n\" 6 \",1\n\"\t7\",2\n", std::string("b"))) == std::vector<float>{6, 7});
  CHECK(features(read("a,\"b \"\"x\"\", y\"\n1,2", std::string("b \"x\", y"))) == std::vector<float>{1});
}

TEST_CASE("a first line without any number is a header unless said otherwise") {
  const Reader read;
  CHECK(read("a,b\n1,2\n", std::int64_t{1}).inputs[0].array.rows() == 1);
  CHECK(read("1,2\n3,4\n", std::int64_t{1}).inputs[0].array.rows() == 2);
  CHECK(read("0,1\n3,4\n", std::int64_t{1}, true).inputs[0].array.rows() == 1);
  CHECK(labels(read("0,1\n3,4\n", std::string("1"))) == std::vector<double>{4});
  CHECK(contains(read.error("a,1\n3,4\n", std::int64_t{1}), "header: true"));
  CHECK(contains(read.error("a,b\n3,4\n", std::int64_t{1}, false), ":1: row 0 (counting from 0), column 0"));
}

TEST_CASE("csv numbers keep their precision, and are float32 where that holds all of them") {
  const Reader read;
  const Examples examples =
      read("0.1,16777217,123456789,1e-60,-0,1E+3,3.4028234e38,1e-400,0\n", std::int64_t{8}, false);
  REQUIRE(examples.inputs[0].array.dtype == DType::kFloat64);
  CHECK(std::ranges::equal(examples.inputs[0].array.span<double>(),
                           std::vector<double>{0.1, 16777217, 123456789, 1e-60, -0.0, 1000, 3.4028234e38, 0}));
  CHECK(features(examples)[0] == 0.1f);
  CHECK(read("0.5,3,-7,0\n", std::int64_t{3}, false).inputs[0].array.dtype == DType::kFloat32);
}

TEST_CASE("wrong csv cells are refused with line, row and column") {
  const Reader read;
  const auto error = [&](std::string_view content) { return read.error(content, std::string("y")); };
  CHECK(contains(error("x,y\n1,2\n3,abc\n"),
                 read.path() + ":3: row 1 (counting from 0), column 1 ('y'): expected a finite number, found 'abc'"));
  CHECK(contains(error("x,y\n1,2\nnan,2\n"), "column 0 ('x'): expected a finite number, found 'nan'"));
  CHECK(contains(error("x,y\n-inf,2\n"), "found '-inf'"));
  CHECK(contains(error("x,y\n1e39,2\n"), "found '1e39'"));
  const std::string bits = "0" + std::string(400, '1');  // no double has so many digits
  CHECK(contains(error("x,y\n" + bits + ",2\n"), "column 0 ('x'): expected a finite number, found '0111"));
  CHECK(contains(error("x,y\n1,\n"), "found an empty cell"));
  CHECK(contains(error("x,y\n,1\n"), "found an empty cell"));
  CHECK(has_in_order(error("x,y\n1.5abc,1\n"),
                     {read.path() + ":2: row 0 (counting from 0), column 0 ('x'): expected a number",
                      "found '1.5abc'; ", "'encoding: {x: one_hot}'", "'features'"}));
  CHECK(contains(error("x,y\n1,2\n3, 7.0.1 \n"), ":3: row 1 (counting from 0), column 1 ('y'): "));
  CHECK(contains(error("x,y\n1,2\n3, 7.0.1 \n"), "found '7.0.1'"));
  CHECK(contains(error("x,y\n1 2,1\n"), "found '1 2'"));
  CHECK(contains(error("x,y\n\"1\"2,1\n"), "found '\"1\"2'"));
  CHECK(contains(error("\n\"x\" y,y\n1,2\n"), ":2: column 0: expected a comma or the end of the line after a quoted"));
  CHECK(error("x,y\n1" + std::string(1000, 'a') + ",1\n").size() < 400);
  CHECK(contains(error("x,y\n1,2,3\n"),
                 ":2: row 0 (counting from 0), column 1 ('y'): expected 2 cells as in the first line, found more"));
  CHECK(contains(error("x,y\n1\n2,3\n"),
                 ":2: row 0 (counting from 0), column 0 ('x'): expected 2 cells as in the first line, found 1"));
  CHECK(contains(error("x,y\n\"1,2\n3,4\n"), "a quote begins here and is never closed"));
}

TEST_CASE("digits of a column that is not read may be any number") {
  TemporaryFolder folder;
  Csv csv;
  csv.file = config::Path{folder.write("a.csv", "x,bits,y\n1,0" + std::string(400, '1') + ",2\n")};
  csv.labels = labels_in(std::string("y"));
  csv.features = std::vector<CsvColumn>{std::string("x")};
  CHECK(features(Reader::table(csv)) == std::vector<float>{1});
}

TEST_CASE("a csv file may be gzip") {
  const Reader read;
  const std::string content = "a,species\n1,0\n2,1\n";
  CHECK(features(read(gzip(content), kName)) == features(read(content, kName)));
  CHECK(contains(read.error(gzip(content).substr(0, 25), kName), "a.csv: "));
}

TEST_CASE("wrong csv files are refused") {
  const Reader read;
  CHECK(contains(read.error("", std::int64_t{0}), "empty file"));
  CHECK(contains(read.error("\n \n", std::int64_t{0}), "empty file"));
  CHECK(contains(read.error(std::string("a,\0b\n", 5), std::int64_t{0}), "not text"));
  CHECK(contains(
      read.error("a,species_\n1,2\n", kName),
      "no column 'species' in the header for 'labels'; the columns are a, species_; did you mean 'species_'?"));
  CHECK(contains(read.error("a,a\n1,2\n", std::string("a")), "several columns are named 'a'"));
  CHECK(contains(read.error("a,b\n1,2\n", std::int64_t{2}), "no column 2 for 'labels'; columns are 0 to 1"));
  CHECK(contains(read.error("a,b\n1,2\n", std::vector<CsvColumn>{std::int64_t{1}, std::string("b")}), "twice"));
  CHECK(contains(read.error("a:b\n1:2\n", std::int64_t{0}), "no column is left for features"));
  CHECK(error_text([&] { Dataset(read("a,b\n", std::int64_t{0})); }) ==
        read.path() + ": expected at least one example, found none");
}

TEST_CASE("a short file with many columns and lines claims little memory") {
  const Reader read;
  const std::string header = std::string(200'000, ',') + "\n";
  CHECK(contains(read.error(header + std::string(200'000, '\n') + ",", std::int64_t{0}, true), "empty cell"));
}

TEST_CASE("a wrong label is reported with its line where rows are lines") {
  const Reader read;
  CHECK(read("x,y\n1,2\n3,4\n", std::int64_t{1}).outputs[0].array.row_text(1) ==
        read.path() + ":3: row 1 (counting from 0)");
  CHECK(read("x,y\n1,2\n\n3,4\n", std::int64_t{1}).outputs[0].array.row_text(1) ==
        read.path() + ": row 1 (counting from 0)");
}

TEST_CASE("decimal commas are reported as what they are, among features and labels") {
  const Reader read;
  CHECK(contains(
      read.error("a;y\n1;2,5\n", "y"),
      "expected a number or a word, found '2,5'; if the file's numbers have commas, set `decimal: \",\"`, else "
      "write 2.5"));
  CHECK(contains(read.error("a;y\n-1,25;2\n", "y"), "else write -1.25"));
  CHECK(contains(read.error("a;y\nx,y;2\n", "y"), "a column of words needs an encoding"));
}

TEST_CASE("numbers may have decimal commas") {
  const TemporaryFolder folder;
  const auto read = [&](std::string_view content, CsvColumns labels,
                        std::optional<std::string> delimiter = std::nullopt) {
    Csv csv;
    csv.file = config::Path{folder.write("a.csv", content)};
    csv.labels = labels_in(labels);
    csv.decimal = ",";
    csv.delimiter = std::move(delimiter);
    return Reader::table(csv);
  };
  const Examples examples = read("a;b;y\n1,5;-,25;1\n \"2,75\" ;3e2;0\n-1,5e-2;7;1\n", "y");
  CHECK(features(examples) == std::vector<float>{1.5f, -0.25f, 2.75f, 300, -0.015f, 7});
  // Without a header, where the first line has more commas than separators.
  CHECK(features(read("1,5;2,5;1\n3,5;4,5;0\n", std::int64_t{2})) == std::vector<float>{1.5f, 2.5f, 3.5f, 4.5f});
  CHECK(features(read("1,5\t2\n3,25\t1\n", std::int64_t{1})) == std::vector<float>{1.5f, 3.25f});
  CHECK(labels(read("a;y\n1;0,5\n2;1,5\n", "y")) == std::vector<double>{0.5, 1.5});
  // 17 digits, for which the short way of reading does not serve.
  CHECK(labels(read("a;y\n1;0,12345678901234567\n", "y")) == std::vector<double>{0.12345678901234567});
  CHECK(contains(error_text([&] { read("a;y\n1.5;2\n", "y"); }), "found '1.5'"));
  CHECK(contains(error_text([&] { read("a;y\n1.234,5;2\n", "y"); }), "found '1.234,5'"));
}

TEST_CASE("numbers are the nearest ones to their text, in float and in double") {
  const auto check = [](const std::string& text) {
    CAPTURE(text);
    double expected = 0;
    float expected_float = 0;
    const bool is_number =
        std::from_chars(text.data(), text.data() + text.size(), expected).ptr == text.data() + text.size();
    std::from_chars(text.data(), text.data() + text.size(), expected_float);
    CsvText wide(text), narrow(text);
    const auto found = wide.whole_number<double>();
    const auto found_float = narrow.whole_number<float>();
    REQUIRE(found.has_value() == is_number);
    REQUIRE(found_float.has_value() == is_number);
    if (!is_number) return;
    CHECK(std::bit_cast<std::uint64_t>(*found) == std::bit_cast<std::uint64_t>(expected));
    CHECK(std::bit_cast<std::uint32_t>(*found_float) == std::bit_cast<std::uint32_t>(expected_float));
  };
  for (const char* text : {"0",
                           "-0",
                           "-0.0",
                           ".5",
                           "5.",
                           "-.25",
                           ".",
                           "-",
                           "-.",
                           "--1",
                           "1.2.3",
                           "1e5",
                           "1e",
                           "9007199254740993",
                           "9007199254740992",
                           "16777217",
                           "16777219",
                           "-16777217.0",
                           "16777217.000000001",
                           "0.1",
                           "1234567.5",
                           "0.000000000000000001",
                           "123456789012345678",
                           "1234567890123456789",
                           "12345678901234567890.5",
                           "0.12345678901234567",
                           "33554434.99999999",
                           "67108865",
                           "3.4028235",
                           "00012.50",
                           "1.5x"}) {
    check(text);
  }
  std::uint64_t state = 1;
  const auto below = [&](std::uint64_t bound) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % bound;
  };
  for (int i = 0; i < 20'000; ++i) {
    std::string text = below(3) == 0 ? "-" : "";
    const std::uint64_t digits = 1 + below(19), point = below(2) == 0 ? below(digits + 1) : digits;
    for (std::uint64_t d = 0; d < digits; ++d) {
      if (d == point) text += '.';
      text += static_cast<char>('0' + below(10));
    }
    check(text);
  }
  for (int i = 0; i < 2'000; ++i) {  // midway between two floats, and next to it
    const std::uint64_t middle = ((std::uint64_t{1} << 24) + below(1 << 24)) * 2 + 1;
    for (const char* rest : {"", ".0", ".00000001", ".5"}) check(std::to_string(middle) + rest);
  }
}

}  // namespace
}  // namespace mirrortrain::data
