#include "data/loading/new_table.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <thread>

#include "data/files.h"
#include "data/files/stream_input.h"
#include "data/loading/load.h"
#include "data/loading/new_data.h"
#include "data/one_spec.h"

namespace mirrortrain::data {
namespace {

/// All that is read of new data, however it is read.
struct Read {
  std::vector<double> numbers;        ///< features, row by row
  std::vector<DType> types;           ///< of each row
  std::vector<std::int64_t> indices;  ///< of the rows in the whole data
  std::vector<std::int64_t> left_out;
  std::vector<std::string> reasons, remarks;
  std::vector<std::vector<std::string>> cells;
  std::string error;
  std::int64_t rows = 0;

  void add(const Dataset& examples) {
    const Array& array = examples.features(0);
    for (std::int64_t row = 0; row < examples.rows(); ++row) types.push_back(array.dtype);
    with_element_type(array.dtype, [&](auto* type) {
      for (const auto value : array.span<std::remove_pointer_t<decltype(type)>>())
        numbers.push_back(static_cast<double>(value));
    });
  }
};

/// Numbers, words with an own class for others, labels.
class Shop {
 public:
  explicit Shop(OnBadExample on_bad, bool refuses_words = false) : on_bad_(on_bad) {
    Csv csv;
    csv.file = config::Path{folder_.write("train.csv", "size,color,kind\n1,red,a\n2.5,blue,b\n")};
    csv.labels = labels_in(std::string("kind"));
    csv.missing = missing_in(MissingIsMean{});
    OneHotEncoding colors;
    colors.unknown = refuses_words ? UnknownWord::kError : UnknownWord::kOwnClass;
    csv.encoding.entries.emplace_back("color", colors);
    options_.train.value = csv;
    spec_ = OneSpec{.features = {refuses_words ? 3 : 4}, .labels_dtype = DType::kInt32, .classes = 2};
    adapted_ = load(options_, 0, &spec_).adapted;
    wanted_ = wanted_by(&spec_, {});
  }

  const TemporaryFolder& folder() const { return folder_; }

  /// As a whole.
  Read whole(const std::string& file) const {
    Read read;
    try {
      const Dataset examples = read_new(new_source(file, options_), adapted_, wanted_, on_bad_, 1);
      read.add(examples);
      const LeftOut* const left = examples.left_out();
      if (left != nullptr) read.left_out = left->rows, read.reasons = left->reasons;
      read.rows = examples.rows() + std::ssize(read.left_out);
      read.remarks = examples.remarks();
    } catch (const Error& error) {
      read.error = error.what();
    }
    finish(read);
    return read;
  }

  NewTable table(const std::vector<std::string>& files, std::int64_t block) const {
    return {{files, std::get<Csv>(new_source(files, options_)), on_bad_, 1, block}, adapted_, wanted_};
  }
  Read parts(const std::vector<std::string>& files, std::int64_t block,
             const std::vector<std::string>& columns = {}) const {
    Read read;
    try {
      NewTable table = this->table(files, block);
      table.want(columns);
      while (const auto one = table.next()) {
        CHECK(one->first == read.rows);
        read.rows += one->rows;
        if (one->examples) read.add(*one->examples);
        read.left_out.insert(read.left_out.end(), one->left_out.begin(), one->left_out.end());
        read.cells.insert(read.cells.end(), one->cells.begin(), one->cells.end());
      }
      CHECK(table.rows() == read.rows);
      if (const auto left = table.left_out()) read.reasons = left->reasons;
      read.remarks = table.take_remarks();
    } catch (const Error& error) {
      read.error = error.what();
    }
    finish(read);
    return read;
  }

 private:
  static void finish(Read& read) {
    std::ranges::sort(read.remarks);
    if (!read.error.empty()) read = Read{.error = read.error};
  }

  TemporaryFolder folder_;
  OnBadExample on_bad_;
  DataOptions options_;
  ExampleSpec spec_;
  Adapted adapted_;
  Wanted wanted_;
};

void check_equal(const Read& found, const Read& wanted) {
  CHECK(found.error == wanted.error);
  CHECK(found.numbers == wanted.numbers);
  CHECK(found.types == wanted.types);
  CHECK(found.left_out == wanted.left_out);
  CHECK(found.remarks == wanted.remarks);
  CHECK(found.rows == wanted.rows);
}

std::string many_rows(int rows, const std::string& end = "\n") {
  std::string text;
  for (int i = 0; i < rows; ++i) text += fmt::format("{},{}{}", i % 17, i % 3 == 0 ? "red" : "\"blue\"", end);
  return text;
}

const std::vector<std::string>& contents() {
  static const std::vector<std::string> all = {
      "size,color\n1,red\n2,blue\n3,red\n4,other\n",
      "size,color\r\n1,red\r\n2,blue\r\n\r\n3,red",
      "\xef\xbb\xbf\"size\",\"color\"\n1,\"red\"\n2.1,blue\n",
      "size,color\n\n\n1,red\n  \n2,\"multi\nline\"\n3,\"a \"\"quote\"\"\"\n,red\n",
      "color;size;more\nred;1;x\nblue;2;y\n",
      "1,red,a\n2,blue,b\n7,blue,b\n",
      "1,2\n3,4\n",
      "size,color\n1,red\nsize,color\n2,blue\nsize,color\nsize,color\n0.1,red\n",
      "size,color\r1,red\r2,blue\r",
      "size,color\nx,red\n2,blue\n1,red,3\n5,\"re\"d\n4,blue\n1e99,red\n6,red\n",
      "size,color\nx,red\ny,red\n",
      "size,color\n1,red\n2,\"never closed\n3,red\n",
      "size,color\n",
      "",
      "size,colour\n1,red\n",
      "{\"size\": 1}\n",
      "size,color\n" + many_rows(2100),
      "size,color\n" + many_rows(1500, "\r\n") + "0.1,red\n" + many_rows(700),
      "size,color\n" + many_rows(1200) + "size,color\n" + many_rows(40) + "oh,red\n\n" + many_rows(3),
      "a,b\n" + std::string("word,red\n") + many_rows(10),
      "size,color\n01234,red\n2345,blue\n",
      "s;ize;,colo\"size\":r\n,kind\n1,red,a\n2,blue,b\n",
      "size,color\n2.801,red\n3.125,red\n950,blue\n",
  };
  return all;
}

TEST_CASE("a table that is read in parts of any size has the rows, errors and remarks of a whole one") {
  for (const OnBadExample on_bad : {OnBadExample::kError, OnBadExample::kSkip}) {
    for (const bool refuses_words : {false, true}) {
      const Shop shop(on_bad, refuses_words);
      for (const std::string& content : contents()) {
        CAPTURE(content.substr(0, 200));
        const std::string file = shop.folder().write("new.csv", content);
        const Read whole = shop.whole(file);
        for (const std::int64_t block : {1, 2, 3, 5, 64, 1024}) {
          CAPTURE(block);
          check_equal(shop.parts({file}, block), whole);
        }
      }
    }
  }
}

TEST_CASE("the rows of several files are numbered through, and errors say where a row is in its file") {
  const Shop shop(OnBadExample::kSkip);
  const std::string first = shop.folder().write("1.csv", "size,color\n1,red\nx,red\n3,blue\n");
  const std::string second = shop.folder().write("2.csv", "id,color,size\n7,red,4\n8,blue,no\n");
  const std::string third = shop.folder().write("3.csv", "color,id,size\n");
  for (const std::int64_t block : {1, 2, 1024}) {
    const Read read = shop.parts({first, second, third}, block, {"size"});
    CHECK(read.error == "");
    CHECK(read.rows == 5);
    CHECK(read.left_out == std::vector<std::int64_t>{1, 4});
    REQUIRE(read.reasons.size() == 2);
    CHECK(contains(read.reasons[0], first + ":3: row 1 (counting from 0), column 0 ('size')"));
    CHECK(contains(read.reasons[1], second + ":3: row 1 (counting from 0), column 2 ('size')"));
    CHECK(read.cells == std::vector<std::vector<std::string>>{{"1"}, {"x"}, {"3"}, {"4"}, {"no"}});
    CHECK(std::ranges::count(read.remarks, second + ": the training data has no column 'id', which is passed over") ==
          1);
  }
  CHECK(contains(shop.parts({first, second}, 2, {"id"}).error,
                 "1.csv: there is no column 'id' to keep; the columns are"));
}

TEST_CASE("rows of JSON are those of CSV") {
  const Shop shop(OnBadExample::kError);
  const Read csv = shop.whole(
      shop.folder().write("a.csv", "size,color\n1.5,red\n,\"bl\nue\"\n-2e-3,\"say \"\"x\"\"\"\n,red\n12,blue\n"));
  const std::string json = shop.folder().write("a.jsonl",
                                               "{\"size\": 1.5, \"color\": \"red\", \"kind\": [1, 2]}\n\n"
                                               "{\"color\": \"bl\\nue\", \"kind\": true}\n"
                                               "{\"color\": \"say \\\"x\\\"\", \"size\": -2e-3}\r\n"
                                               "  {\"size\": null, \"color\": \"red\"}\n"
                                               "{\"size\": 12, \"color\": \"blue\", \"kind\": \"b\"}");
  for (const std::int64_t block : {1, 2, 1024}) {
    const Read read = shop.parts({json}, block, {"kind", "size"});
    check_equal(read, csv);
    CHECK(read.cells == std::vector<std::vector<std::string>>{
                            {"[1,2]", "1.5"}, {"true", "null"}, {"null", "-0.002"}, {"null", "null"}, {"\"b\"", "12"}});
  }
}

TEST_CASE("what is no row of JSON is refused with its line, or left out") {
  const auto rows = [](const std::string& bad) {
    return "{\"size\": 1, \"color\": \"r\\n\"}\n\n" + bad + "\n{\"size\": 3, \"color\": \"red\"}\n";
  };
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"{\"size\": 2", "this line is no JSON, as character "},
      {"[1, 2]", "expected an object with the columns' names as keys, as {\"size\": ...}, found a list"},
      {"{\"size\": 1, \"colr\": \"red\"}",
       "unknown key 'colr'; the columns are size, color, kind; did you mean 'color'?"},
      {"{\"size\": 1e999}", "a number in this line is larger than any of 64 bits"},
      {"{\"size\": 1, \"size\": 2}", "the key 'size' is in this object twice"},
      {"{\"size\": \"2\"}", "key 'size': expected a number, found the text '2'"},
      {"{\"size\": true}", "key 'size': expected a number, found true"},
      {"{\"size\": 1, \"color\": {}}", "key 'color': expected a text or a number, found an object"},
      {"{\"size\": 1e99, \"color\": \"red\"}", "column 0 ('size'): expected a finite number, found '1e+99'"},
  };
  for (const auto& [line, reason] : wrong) {
    CAPTURE(line);
    const Shop strict(OnBadExample::kError), lenient(OnBadExample::kSkip);
    for (const std::int64_t block : {1, 1024}) {
      const std::string error = strict.parts({strict.folder().write("a.jsonl", rows(line))}, block).error;
      CHECK_MESSAGE(contains(error, "a.jsonl:3: row 1 (counting from 0)"), error);
      CHECK_MESSAGE(contains(error, reason), error);
      const Read read = lenient.parts({lenient.folder().write("a.jsonl", rows(line))}, block, {"size"});
      CHECK(read.error == "");
      CHECK(read.left_out == std::vector<std::int64_t>{1});
      CHECK(read.numbers.size() == 8);
      CHECK(read.cells.size() == 3);
      REQUIRE(read.reasons.size() == 1);
      CHECK_MESSAGE(contains(read.reasons[0], reason), read.reasons[0]);
    }
  }
}

/// A pipe by its name, into which a thread writes.
class Pipe {
 public:
  Pipe() { REQUIRE(::pipe(ends_) == 0); }
  ~Pipe() {
    ::close(ends_[0]);
    close();
  }
  std::string path() const { return fmt::format("/dev/fd/{}", ends_[0]); }
  void write(std::string_view text) const { CHECK(::write(ends_[1], text.data(), text.size()) == std::ssize(text)); }
  void close() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  int ends_[2] = {-1, -1};
};

TEST_CASE("what a pipe has is a block before more is written to it") {
  const Shop shop(OnBadExample::kError);
  for (const bool is_json : {false, true}) {
    CAPTURE(is_json);
    const auto row = [&](int size) {
      return is_json ? fmt::format("{{\"size\": {}, \"color\": \"red\"}}\n", size) : fmt::format("{},red,b\n", size);
    };
    Pipe pipe;
    pipe.write(is_json ? "" : "size,color,kind\n");
    pipe.write(row(1) + row(2).substr(0, 2));
    NewTable table = shop.table({pipe.path()}, 1024);
    REQUIRE(table.names().size() == (is_json ? 2 : 3));
    const auto first = table.next();
    REQUIRE(first);
    CHECK(first->rows == 1);
    pipe.write(row(2).substr(2) + row(3));
    const auto second = table.next();
    REQUIRE(second);
    CHECK(second->first == 1);
    CHECK(second->rows == 2);
    pipe.close();
    CHECK_FALSE(table.next());
    CHECK_FALSE(table.bytes());
  }
}

TEST_CASE("rows that a writer has compressed and passed on are a block before it writes more") {
  const Shop shop(OnBadExample::kError);
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  const auto compressed = [&](std::string text, int flush) {
    std::string to(1024, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(text.data());
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(to.data());
    stream.avail_out = static_cast<uInt>(to.size());
    deflate(&stream, flush);
    to.resize(to.size() - stream.avail_out);
    return to;
  };
  Pipe pipe;
  pipe.write(compressed("size,color,kind\n1,red,b\n2,", Z_SYNC_FLUSH));
  NewTable table = shop.table({pipe.path()}, 1024);
  const auto first = table.next();
  REQUIRE(first);
  CHECK(first->rows == 1);
  pipe.write(compressed("red,b\n", Z_FINISH));  // the end of a member, behind which another may begin
  const auto second = table.next();
  REQUIRE(second);
  CHECK(second->rows == 1);
  deflateReset(&stream);
  pipe.write(compressed("3,red,b\n", Z_FINISH));
  const auto third = table.next();
  REQUIRE(third);
  CHECK(third->rows == 1);
  pipe.close();
  CHECK_FALSE(table.next());
  deflateEnd(&stream);
}

TEST_CASE("rows of a pipe are float64 from the first on that float32 does not have, in whatever parts they come") {
  const Shop shop(OnBadExample::kError);
  std::vector<Read> reads;
  for (const std::size_t piece : {1, 7, 1000}) {
    const std::string text = "size,color\n1,red\n2,red\n0.1,red\n3,red\n";
    Pipe pipe;
    std::jthread writer([&] {
      for (std::size_t at = 0; at < text.size(); at += piece) pipe.write(text.substr(at, piece));
      pipe.close();
    });
    reads.push_back(shop.parts({pipe.path()}, 2));
    CHECK(reads.back().types == std::vector<DType>{DType::kFloat32, DType::kFloat32, DType::kFloat64, DType::kFloat64});
    check_equal(reads.back(), reads.front());
  }
}

TEST_CASE("a row that does not end is refused before it takes all memory") {
  const Shop shop(OnBadExample::kError);
  const std::string many(std::size_t{65} << 20, 'x');
  const std::string object = shop.folder().write("open.jsonl", "{\"size\": 1}\n{\"color\": \"" + many);
  CHECK(contains(shop.parts({object}, 10).error,
                 "open.jsonl:2: the row that begins here does not end within 64 MiB; write"));
  const std::string open = "2,\"" + many;
  for (const std::string before : {"size,color\n", "size,color\n1,red\n\n"}) {
    const std::string file = shop.folder().write("open.csv", before + open);
    const std::int64_t line = 1 + std::ranges::count(before, '\n');
    CHECK(shop.parts({file}, 10).error ==
          fmt::format("{}:{}: the row that begins here does not end within 64 MiB; close its quotes", file, line));
  }
}

TEST_CASE("reading a pipe that has nothing is stopped") {
  const Shop shop(OnBadExample::kError);
  const Pipe pipe;
  DataOptions none;
  int asked = 0;
  const Adapted adapted;
  const Wanted wanted;
  CHECK_THROWS_AS(
      NewTable({{pipe.path()}, {}, OnBadExample::kError, 1, 2, [&] { return ++asked > 1; }}, adapted, wanted),
      ReadingStopped);
  CHECK(asked == 2);
}

TEST_CASE("files of new data are named by paths, globs or as stdin") {
  const TemporaryFolder folder;
  for (const char* name : {"b.csv", "a.csv", "c.txt"}) folder.write(name, "1\n");
  std::vector<std::string> remarks;
  CHECK(new_files({folder.path("*.csv"), folder.path("c.txt")}, remarks) ==
        std::vector<std::string>{folder.path("a.csv"), folder.path("b.csv"), folder.path("c.txt")});
  CHECK(new_files({"/dev/stdin"}, remarks) == std::vector<std::string>{"-"});
  CHECK(error_text([&] { new_files({folder.path("*.png")}, remarks); }) ==
        fmt::format("--data {}: no file matches this glob; check the folder and the pattern", folder.path("*.png")));
  CHECK(error_text([&] { new_files({folder.path("d.csv")}, remarks); }) ==
        fmt::format("--data {}: there is no such file or folder; check the path", folder.path("d.csv")));
  CHECK(error_text([&] { new_files({folder.path("a.csv"), "-"}, remarks); }) == "--data -: stdin is read alone");
  DataOptions options;
  CHECK(contains(error_text([&] {
                   new_source({folder.path("a.csv"), folder.path("c.npy")}, options);
                 }),
                 "have different formats; name files of one"));
}

}  // namespace
}  // namespace mirrortrain::data
