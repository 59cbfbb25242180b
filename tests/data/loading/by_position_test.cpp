#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/files.h"
#include "data/feeding/feeder.h"
#include "data/files.h"
#include "data/files/unpacked_files.h"
#include "data/fingerprint.h"
#include "data/loading/adapt.h"
#include "data/loading/load.h"
#include "data/one_spec.h"
#include "data/pictures/picture_steps.h"
#include "data/preprocessing/select_ranks.h"
#include "small_disk.h"

namespace mirrortrain::data {
namespace {

constexpr std::int64_t kRows = 57, kWidth = 6;

template <class T>
std::vector<T> numbers(std::int64_t count) {
  std::vector<T> all(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const double number = std::is_integral_v<T> ? static_cast<double>(i * 7 % 100) : std::sin(static_cast<double>(i));
    all[static_cast<std::size_t>(i)] = static_cast<T>(number);
  }
  return all;
}

template <class T>
std::string swapped_bytes(std::vector<T> all) {
  std::string bytes = bytes_of(all);
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                 bytes.begin() + static_cast<std::ptrdiff_t>(at + sizeof(T)));
  }
  return bytes;
}

std::string shape_text(std::int64_t rows, std::int64_t width) { return fmt::format("({}, {})", rows, width); }

/// Options that hold everything, or nothing, in memory.
DataOptions options_of(Source source, const TemporaryFolder& folder, bool in_memory) {
  DataOptions options;
  options.train.value = std::move(source);
  if (!in_memory) options.memory = config::Size{1};
  options.cache_directory = config::Path{folder.path("cache")};
  return options;
}

/// The bytes of all rows, read by blocks of different sizes.
std::string rows_of(const Dataset& dataset, const Array& array) {
  std::string all;
  std::vector<std::byte> scratch;
  for (std::int64_t row = 0, count = 1; row < dataset.rows(); row += count, count = count % 5 + 1) {
    count = std::min(count, dataset.rows() - row);
    const std::byte* const rows = array.rows_at(dataset.first_row() + row, count, scratch);
    all.append(reinterpret_cast<const char*>(rows), static_cast<std::size_t>(count) * array.row_bytes());
  }
  return all;
}

void check_equal(const Dataset& held, const Dataset& read) {
  CHECK_FALSE(held.features(0).is_by_position());
  CHECK(read.features(0).is_by_position());
  CHECK(read.features(0).bytes.size() == 0);
  CHECK(read.rows() == held.rows());
  CHECK(read.features(0).dtype == held.features(0).dtype);
  CHECK(read.features(0).shape == held.features(0).shape);
  CHECK(rows_of(read, read.features(0)) == rows_of(held, held.features(0)));
  CHECK(rows_of(read, read.labels(0)) == rows_of(held, held.labels(0)));
  CHECK(fingerprint(read) == fingerprint(held));
  CHECK(fingerprint(read) == fingerprint(held));  // as it was kept
  for (const std::int64_t row : {std::int64_t{0}, held.rows() - 1}) {
    CHECK(read.features(0).row_text(read.first_row() + row) == held.features(0).row_text(held.first_row() + row));
  }
}

/// In memory and by position, all of them and a drawn part.
void check_source(const Source& source, const TemporaryFolder& folder) {
  DataOptions held = options_of(source, folder, true), read = options_of(source, folder, false);
  check_equal(load(held, 0, nullptr).train, load(read, 0, nullptr).train);
  for (DataOptions* const options : {&held, &read}) {
    options->validation.value = ValidationFraction{0.3, true, false};
  }
  const Splits in_memory = load(held, 5, nullptr), by_position = load(read, 5, nullptr);
  check_equal(in_memory.train, by_position.train);
  check_equal(*in_memory.validation, *by_position.validation);
}

std::string labels_npy(std::int64_t rows) {
  return npy("<i8", false, fmt::format("({},)", rows), bytes_of(numbers<std::int64_t>(rows)));
}

TEST_CASE("rows of npy files that are read by position are those in memory") {
  const TemporaryFolder folder;
  const std::string shape = shape_text(kRows, kWidth);
  const std::int64_t all = kRows * kWidth;
  const std::vector<std::pair<std::string, std::string>> files = {
      {"uint8", npy("|u1", false, shape, bytes_of(numbers<std::uint8_t>(all)))},
      {"int16", npy("<i2", false, shape, bytes_of(numbers<std::int16_t>(all)))},
      {"int64", npy("<i8", false, shape, bytes_of(numbers<std::int64_t>(all)))},
      {"uint64", npy("<u8", false, shape, bytes_of(numbers<std::uint64_t>(all)))},
      {"float32", npy("<f4", false, shape, bytes_of(numbers<float>(all)))},
      {"big float64", npy(">f8", false, shape, swapped_bytes(numbers<double>(all)))},
      {"bool", npy("|b1", false, shape, bytes_of(numbers<std::uint8_t>(all)))},
      {"fortran", npy("<f4", true, shape, bytes_of(numbers<float>(all)))},
      {"fortran of rank 3", npy("<i2", true, fmt::format("({}, 2, 3)", kRows), bytes_of(numbers<std::int16_t>(all)))}};
  Npy source;
  source.labels.one = config::Path{folder.write("labels.npy", labels_npy(kRows))};
  for (const auto& [name, content] : files) {
    CAPTURE(name);
    source.features = Files(config::Path{folder.write(name + ".npy", content)});
    check_source(source, folder);
  }
}

TEST_CASE("rows of several files follow each other, also by position") {
  const TemporaryFolder folder;
  const auto part = [&](const std::string& name, std::int64_t rows, std::int64_t first) {
    std::vector<float> some = numbers<float>((first + rows) * kWidth);
    some.erase(some.begin(), some.begin() + first * kWidth);
    return config::Path{folder.write(name, npy("<f4", false, shape_text(rows, kWidth), bytes_of(some)))};
  };
  Npy source;
  source.features = Files(std::vector<config::Path>{part("a.npy", 20, 0), part("b.npy", 1, 20), part("none.npy", 0, 21),
                                                    part("c.npy", kRows - 21, 21)});
  source.labels.one = config::Path{folder.write("labels.npy", labels_npy(kRows))};
  check_source(source, folder);
  const Dataset read = load(options_of(source, folder, false), 0, nullptr).train;
  CHECK(read.features(0).row_text(22) == folder.path("c.npy") + ": row 1 (counting from 0)");
}

TEST_CASE("archives are read by position where they are stored, and from the unpacked array where they are not") {
  const TemporaryFolder folder;
  const std::string x = npy("<f4", false, shape_text(kRows, kWidth), bytes_of(numbers<float>(kRows * kWidth)));
  for (const bool deflated : {false, true}) {
    for (const bool zip64 : {false, true}) {
      CAPTURE(deflated);
      CAPTURE(zip64);
      Npz source;
      const std::string name = fmt::format("{}{}.npz", deflated ? "deflated" : "stored", zip64 ? "64" : "");
      source.file = Files(config::Path{folder.write(
          name,
          zip({{"before.npy", labels_npy(3), true}, {"x.npy", x, deflated, zip64}, {"y.npy", labels_npy(kRows)}}))});
      check_source(source, folder);
      const bool has_unpacked = !UnpackedFiles(folder.path("cache")).entries().empty();
      CHECK(has_unpacked == deflated);
    }
  }
}

TEST_CASE("a damaged archive is refused before any of its rows is read by position") {
  const TemporaryFolder folder;
  const std::string x = npy("<f4", false, shape_text(kRows, kWidth), bytes_of(numbers<float>(kRows * kWidth)));
  std::string archive = zip({{"x.npy", x}, {"y.npy", labels_npy(kRows)}});
  archive[300] = static_cast<char>(archive[300] ^ 1);
  Npz source;
  source.file = Files(config::Path{folder.write("damaged.npz", archive)});
  const std::string held = error_text([&] { load(options_of(source, folder, true), 0, nullptr); });
  CHECK(contains(held, "its checksum does not fit"));
  CHECK(error_text([&] { load(options_of(source, folder, false), 0, nullptr); }) == held);
}

TEST_CASE("compressed idx files are unpacked once, and what is left of a killed run is not taken for whole") {
  const TemporaryFolder folder;
  const std::string images = idx(8, {57, 2, 3}, bytes_of(numbers<std::uint8_t>(kRows * kWidth)));
  const Idx source{config::Path{folder.write("images.gz", gzip(images))},
                   config::Path{folder.write("labels.gz", gzip(idx(8, {57}, bytes_of(numbers<std::uint8_t>(kRows)))))}};
  check_source(source, folder);
  check_source(Idx{config::Path{folder.write("images", images)}, source.labels}, folder);
  const UnpackedFiles cache(folder.path("cache"));
  REQUIRE(cache.entries().size() == 1);  // labels of a byte are held
  const UnpackedFiles::Entry entry = cache.entries().front();
  CHECK(entry.is_whole);
  CHECK_FALSE(entry.is_in_use);
  CHECK(entry.bytes == kRows * kWidth);
  struct stat before {
  }, after{};
  REQUIRE(::stat(entry.path.c_str(), &before) == 0);
  {
    const Dataset read = load(options_of(source, folder, false), 0, nullptr).train;
    REQUIRE(::stat(entry.path.c_str(), &after) == 0);
    CHECK(before.st_ino == after.st_ino);
    CHECK(cache.entries().front().is_in_use);
    CHECK(cache.clean().empty());
    CHECK(rows_of(read, read.features(0)) == bytes_of(numbers<std::uint8_t>(kRows * kWidth)));
  }
  std::filesystem::remove(entry.path);
  std::ofstream(entry.path + ".123-4.tmp") << "half of it";
  check_source(source, folder);
  CHECK_FALSE(std::filesystem::exists(entry.path + ".123-4.tmp"));
  std::filesystem::resize_file(entry.path, 5);
  check_source(source, folder);
  std::ofstream(entry.path + ".123-5.tmp") << "half of it";
  CHECK(cache.entries().size() == 2);
  CHECK(cache.clean().size() == 2);
  CHECK(cache.entries().empty());
  CHECK(std::filesystem::is_empty(cache.folder()));
}

TEST_CASE(
    "a file that was cut or changed since it was unpacked is unpacked anew, also where its size was not known before") {
  const TemporaryFolder folder;
  const UnpackedFiles cache(folder.path("cache"));
  int written = 0;
  const std::string content(1000, 'x');
  const auto read = [&](bool is_exact) {
    const auto file = cache.find_or_write("one", "origin", {is_exact ? content.size() : 10, is_exact},
                                          [&](const UnpackedFiles::Put& put) {
                                            ++written;
                                            put(std::as_bytes(std::span(content)));
                                          });
    CHECK(std::filesystem::file_size(file->path()) == content.size());
    return file->path();
  };
  for (const bool is_exact : {false, true}) {
    written = 0;
    const std::string path = read(is_exact);
    read(is_exact);
    const int before = written;
    for (const std::uintmax_t size : {0, 500, 1001}) {
      std::filesystem::resize_file(path, size);
      read(is_exact);
    }
    CHECK(written == before + 3);
    const auto time = std::filesystem::last_write_time(path);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // as coarse as clocks of file systems are
    std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(7).put('y');
    std::filesystem::last_write_time(path, time);
    read(is_exact);
    CHECK(written == before + 4);
    CHECK(read_text_file(path) == content);
  }
}

TEST_CASE("two threads that want the same file unpack it once") {
  const TemporaryFolder folder;
  const UnpackedFiles cache(folder.path("cache"));
  std::atomic<int> written = 0;
  const std::string content(1000, 'x');
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const auto file = cache.find_or_write("one", "origin", {content.size()}, [&](const UnpackedFiles::Put& put) {
        ++written;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        put(std::as_bytes(std::span(content)));
      });
      CHECK(std::filesystem::file_size(file->path()) == content.size());
    });
  }
  threads.clear();
  CHECK(written == 1);
}

TEST_CASE("what cannot be unpacked is said, with what would help") {
  const TemporaryFolder folder;
  const UnpackedFiles cache(folder.path("cache"));
  const auto nothing = [](const UnpackedFiles::Put&) {};
  const std::string full =
      error_text([&] { cache.find_or_write("huge", "huge.npz: x", {std::uint64_t{1} << 60}, nothing); });
  CHECK(contains(full, "huge.npz: x: it is larger than data.memory, and unpacked it takes 1073741824.0 GiB in "));
  CHECK(contains(full, "give data.cache_directory a folder on a disk with more space"));
  CHECK(contains(error_text([&] { cache.find_or_write("less", "less.npz: x", {5}, nothing); }),
                 "unpacked it has 0 bytes, where 5 were expected"));
  CHECK(cache.entries().empty());
  const std::string taken = folder.write("file", "");
  CHECK(contains(error_text([&] { UnpackedFiles(taken).find_or_write("a", "a.gz", {5}, nothing); }),
                 "give data.cache_directory another folder"));
}

TEST_CASE("a disk that fills while a file is unpacked is an error by name, of which nothing is left") {
  const TemporaryFolder folder;
  const UnpackedFiles cache(folder.path("cache"));
  const std::string content(1 << 20, 'x');
  const auto write = [&](const UnpackedFiles::Put& put) {
    for (int i = 0; i < 4; ++i) put(std::as_bytes(std::span(content)));
  };
  const auto files = [&] {
    return std::distance(std::filesystem::directory_iterator(cache.folder()), std::filesystem::directory_iterator());
  };
  const auto other = cache.find_or_write("other", "other.gz", {std::size_t{4} << 20}, write);
  const auto before = files();
  for (const bool is_exact : {true, false}) {
    std::string full;
    {
      const SmallDisk small(1 << 21);
      full = error_text([&] { cache.find_or_write("x", "x.gz", {std::size_t{4} << 20, is_exact}, write); });
    }
    CHECK_MESSAGE(contains(full, "x.gz: it is larger than data.memory, and while it was unpacked into "), full);
    CHECK(contains(full, "there was no space left"));
    CHECK(contains(full, "give data.cache_directory a folder on a disk with more"));
    CHECK(files() == before);
  }
  CHECK(std::filesystem::file_size(other->path()) == std::size_t{4} << 20);
  CHECK(std::filesystem::file_size(cache.find_or_write("x", "x.gz", {std::size_t{4} << 20}, write)->path()) ==
        std::size_t{4} << 20);
}

TEST_CASE("windows of texts that are read by position are those in memory, in bytes and in tokens of a vocabulary") {
  const TemporaryFolder folder;
  std::string text, other;
  for (int i = 0; i < 2000; ++i) text += i % 7 == 0 ? "a bird " : i % 3 == 0 ? "\n" : "birds";
  for (int i = 0; i < 300; ++i) other += i % 2 == 0 ? "a" : "bird";
  const std::string marked = "\xef\xbb\xbf" + text;
  std::string many = R"(["\n", "a", "b", "i", "r", "d", "s", " ", "bird", "birds")";
  for (int i = 0; i < 300; ++i) many += fmt::format(R"(, "unused {}")", i);
  const config::Path plain{folder.write("plain.txt", marked)}, packed{folder.write("packed.txt", gzip(marked))},
      short_one{folder.write("other.txt", other)};
  const std::vector<std::optional<config::Path>> vocabularies = {
      std::nullopt,
      config::Path{folder.write("few.json", R"(["\n", "a", "b", "i", "r", "d", "s", " ", "bird", "birds"])")},
      config::Path{folder.write("many.json", many + "]")}};
  for (const auto& vocabulary : vocabularies) {
    for (const config::Path& first : {plain, packed}) {
      for (const std::optional<std::int64_t> stride : {std::optional<std::int64_t>(), {3}, {40}}) {
        CAPTURE(vocabulary ? vocabulary->text : "");
        CAPTURE(first.text);
        check_source(Text{std::vector<config::Path>{first, short_one}, 17, vocabulary, stride}, folder);
      }
    }
  }
  Text source{config::Path{folder.write("unknown.txt", text + "\nbirdx" + other)}, 17, vocabularies[1], std::nullopt};
  const std::string held = error_text([&] { load(options_of(source, folder, true), 0, nullptr); });
  CHECK(contains(held, "expected a token of the vocabulary"));
  CHECK(error_text([&] { load(options_of(source, folder, false), 0, nullptr); }) == held);
  source = {config::Path{folder.write("short.txt", "birds")}, 17, std::nullopt, std::nullopt};
  CHECK(error_text([&] { load(options_of(source, folder, false), 0, nullptr); }) ==
        error_text([&] { load(options_of(source, folder, true), 0, nullptr); }));
}

TEST_CASE("tokens of a text longer than what is read at once are found across the pieces") {
  const TemporaryFolder folder;
  std::string text;
  while (text.size() < (5 << 18)) text += text.size() % 11 == 0 ? "aab" : text.size() % 5 == 0 ? "abaab" : "b";
  const Text source{config::Path{folder.write("long.txt", text)}, 32,
                    config::Path{folder.write("parts.json", R"(["a", "b", "aab", "abaab", "bb", "baabb"])")},
                    std::nullopt};
  check_source(source, folder);
}

// Written by TensorFlow: tools/reference/tfrecords.py.
TEST_CASE("records that are read by position are those in memory, from plain and compressed files") {
  const TemporaryFolder folder;
  TfRecord source;
  source.files = config::Path{std::string(MIRRORTRAIN_SOURCE_DIR) + "/tests/tfrecords/*.tfrecord*"};
  source.labels.one = "label";
  for (const auto& features : std::vector<std::vector<std::pair<std::string, RecordValues>>>{
           {{"raw", {{2, 3}, {}}}},
           {{"floats", {{3}, {}}}},
           {{"raw32", {{3}, DType::kFloat32}}},
           {{"integers", {{2}, {}}}, {"floats", {{3}, {}}}}}) {
    source.features.entries = features;
    check_source(source, folder);
  }
  source.labels.one = "floats";  // of 12 bytes, and those of 24 are not held
  check_source(source, folder);
  source.features.entries.clear();
  source.image = "picture";
  const Dataset held = load(options_of(source, folder, true), 0, nullptr).train,
                read = load(options_of(source, folder, false), 0, nullptr).train;
  CHECK(fingerprint(read) == fingerprint(held));
  for (std::int64_t row = 0; row < held.rows(); ++row) {
    std::vector<float> of_held(18), of_read(18);
    held.source(0)->read(row, of_held);
    read.source(0)->read(row, of_read);
    CHECK(of_held == of_read);
    CHECK(read.source(0)->row_text(row) == held.source(0)->row_text(row));
  }
}

/// Splits of a table in memory and by position, all of them and a drawn part.
void check_table(const Csv& source, const TemporaryFolder& folder, OnBadExample on_bad = OnBadExample::kError) {
  DataOptions held = options_of(source, folder, true), read = options_of(source, folder, false);
  for (DataOptions* const options : {&held, &read}) options->on_bad_example = on_bad;
  const auto check = [&](const Dataset& in_memory, const Dataset& by_position) {
    check_equal(in_memory, by_position);
    for (std::size_t i = 1; i < in_memory.inputs().size(); ++i) {
      if (in_memory.source(i) != nullptr) continue;
      CHECK(by_position.features(i).shape == in_memory.features(i).shape);
      CHECK(rows_of(by_position, by_position.features(i)) == rows_of(in_memory, in_memory.features(i)));
    }
    CHECK(by_position.remarks() == in_memory.remarks());
    for (std::int64_t row = 0; row < in_memory.rows(); row += 37) {
      CHECK(by_position.features(0).row_text(by_position.first_row() + row) ==
            in_memory.features(0).row_text(in_memory.first_row() + row));
    }
    REQUIRE((by_position.left_out() == nullptr) == (in_memory.left_out() == nullptr));
    if (in_memory.left_out() == nullptr) return;
    CHECK(by_position.left_out()->rows == in_memory.left_out()->rows);
    CHECK(by_position.left_out()->reasons == in_memory.left_out()->reasons);
  };
  check(load(held, 0, nullptr).train, load(read, 0, nullptr).train);
  for (DataOptions* const options : {&held, &read}) {
    options->validation.value = ValidationFraction{0.3, true, false};
    options->test.value = source;
  }
  const Splits in_memory = load(held, 5, nullptr), by_position = load(read, 5, nullptr);
  check(in_memory.train, by_position.train);
  check(*in_memory.validation, *by_position.validation);
  check(*in_memory.test, *by_position.test);
  CHECK(in_memory.adapted.classes == by_position.adapted.classes);
  for (std::size_t i = 0; i < in_memory.adapted.table->features.size(); ++i) {
    CHECK(in_memory.adapted.table->features[i].words == by_position.adapted.table->features[i].words);
    CHECK(in_memory.adapted.table->features[i].missing == by_position.adapted.table->features[i].missing);
  }
}

/// Rows of numbers and words.
std::string flowers(int rows, const std::string& header) {
  std::string text = header;
  for (int i = 0; i < rows; ++i) {
    text += fmt::format("{},{},{},{},{}\n", i % 5 == 0 ? fmt::format("{}", i % 8) : fmt::format("{}", std::sin(i)),
                        i % 7 == 0   ? "red"
                        : i % 3 == 0 ? "green"
                                     : "blue",
                        i % 11 == 0 ? "" : std::to_string(i % 100), i * 3 % 17, i % 2 == 0 ? "yes" : "no");
  }
  return text;
}

TEST_CASE("rows of tables that are parsed when they are read are those in memory") {
  const TemporaryFolder folder;
  Csv source;
  source.labels = labels_in(std::string("y"));
  source.missing = missing_in(MissingIsMean{});
  source.encoding.entries = {{"color", OneHotEncoding{}}};
  const std::string header = "x,color,size,count,y\n", text = flowers(60000, header);
  std::string quoted = text, returns = text;
  const auto replace = [](std::string& in, std::string_view what, std::string_view by, int every) {
    int found = 0;
    for (std::size_t at = in.find(what); at != in.npos; at = in.find(what, at + by.size())) {
      if (++found % every == 0) in.replace(at, what.size(), by);
    }
  };
  replace(quoted, "blue", "\"bl\nue, \"\"dark\"\"\"", 900);
  replace(quoted, "green", "\"green\"", 1000);
  replace(quoted, "red", "re\"d", 1500);  // no quote at a cell's beginning
  std::ranges::replace(returns, '\n', '\r');
  std::string blank = flowers(30000, "\n  \n" + header) + "\n \n\n" + header + flowers(20000, "") + "   \r\n";
  std::string crlf = text;
  replace(crlf, "\n", "\r\n", 1);
  const std::vector<std::pair<std::string, std::string>> files = {{"plain", text},
                                                                  {"gzip", gzip(text)},
                                                                  {"quoted", quoted},
                                                                  {"returns", returns},
                                                                  {"gzip of returns", gzip(returns)},
                                                                  {"blank", blank},
                                                                  {"crlf", crlf},
                                                                  {"marked", "\xef\xbb\xbf" + text},
                                                                  {"short", flowers(3, header)},
                                                                  {"no end of line", text.substr(0, text.size() - 1)}};
  for (const auto& [name, content] : files) {
    CAPTURE(name);
    source.file = config::Path{folder.write("table.csv", content)};
    check_table(source, folder);
  }
  CHECK_FALSE(UnpackedFiles(folder.path("cache")).entries().empty());
  source.file = std::vector<config::Path>{config::Path{folder.write("a.csv", text)},
                                          config::Path{folder.write("b.csv", flowers(0, header))},
                                          config::Path{folder.write("c.csv", flowers(2000, header))}};
  check_table(source, folder);
}

TEST_CASE("tables by position take every encoding, several inputs and outputs, texts and weights") {
  const TemporaryFolder folder;
  std::string text = "x,color,size,note,weight,a,b,clicked\n";
  for (int i = 0; i < 5000; ++i) {
    text += fmt::format("{},c{},{},\"some, \"\"text\"\" {}\",{},{},{},{}\n", i * 0.5, i * 7 % 13, i % 5, i % 19, i % 3,
                        std::cos(i), i,
                        i % 4 == 0   ? "NA"
                        : i % 2 == 0 ? "1"
                                     : "0");
  }
  Csv source;
  source.file = config::Path{folder.write("table.csv", text)};
  const auto columns = [](std::initializer_list<const char*> names) {
    std::vector<CsvColumn> all;
    for (const char* const name : names) all.emplace_back(std::string(name));
    return all;
  };
  HashedCrossing cross;
  cross.columns = columns({"color", "size"});
  cross.num_bins = 50;
  source.crosses.entries = {{"both", {cross, {}, {}}}};
  HashingEncoding hashing;
  hashing.num_bins = 9;
  hashing.output_mode = CellOutput::kOneHot;
  source.encoding.entries = {{"color", IndexEncoding{}}, {"size", hashing}};
  ContentColumn note{std::string("note")};
  note.as = CellContent::kText;
  note.length = 12;
  source.inputs.entries = {{"numbers", {CsvInput(columns({"x", "size", "both"})), {}, {}}},
                           {"color", {CsvInput(std::string("color")), {}, {}}},
                           {"note", {CsvInput(note), {}, {}}}};
  source.labels.named.entries = {
      {"targets", {CsvLabels(columns({"a", "b", "x"})), {}, {}}},
      {"clicked", {CsvLabels(LabelColumns{std::string("clicked"), MissingLabel::kIgnore}), {}, {}}}};
  source.weights.emplace().named.entries = {{"clicked", {CsvColumn(std::string("weight")), {}, {}}}};
  const Dataset held = load(options_of(source, folder, true), 0, nullptr).train,
                read = load(options_of(source, folder, false), 0, nullptr).train;
  CHECK(read.features(0).is_by_position());
  CHECK(read.features(2).is_by_position());
  CHECK(read.labels(0).is_by_position());
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(read.features(i).dtype == held.features(i).dtype);
    CHECK(rows_of(read, read.features(i)) == rows_of(held, held.features(i)));
  }
  for (std::size_t i = 0; i < 2; ++i) CHECK(rows_of(read, read.labels(i)) == rows_of(held, held.labels(i)));
  for (std::int64_t row = 0; row < held.rows(); ++row) {
    REQUIRE(read.outputs()[1].is_present(row) == held.outputs()[1].is_present(row));
  }
  CHECK(rows_of(read, *read.outputs()[1].weights) == rows_of(held, *held.outputs()[1].weights));
  CHECK(fingerprint(read) == fingerprint(held));
}

TEST_CASE("errors of tables by position are those in memory, and so are the rows that are left out") {
  const TemporaryFolder folder;
  Csv source;
  source.labels = labels_in(std::string("y"));
  source.encoding.entries = {{"color", OneHotEncoding{}}};
  source.missing = missing_in(MissingIsMean{});
  const std::string header = "x,color,size,count,y\n", good = flowers(40000, header);
  const std::vector<std::string> rows = {"word,red,1,2,yes\n", "1,red,1,2\n",      "1,red,1,2,yes,3\n",
                                         "1,red,1,\"2,yes\n",  "1,red,1,2,\n",     "\"1\" 2,red,1,2,yes\n",
                                         "1,\xff,1,2,yes\n",   "1,red,1e39,2,no\n"};
  for (const std::string& row : rows) {
    CAPTURE(row);
    source.file = config::Path{folder.write("table.csv", good + row + flowers(30000, "") + "?,red,1,1,yes\n")};
    const std::string held = error_text([&] { load(options_of(source, folder, true), 0, nullptr); });
    CHECK(held != "no error");
    CHECK(error_text([&] { load(options_of(source, folder, false), 0, nullptr); }) == held);
    if (row.find('"') == row.npos) check_table(source, folder, OnBadExample::kSkip);
  }
  source.file = config::Path{folder.write("empty.csv", "")};
  CHECK(error_text([&] { load(options_of(source, folder, false), 0, nullptr); }) ==
        error_text([&] { load(options_of(source, folder, true), 0, nullptr); }));
  source.file = config::Path{folder.write("header.csv", header)};
  CHECK(error_text([&] { load(options_of(source, folder, false), 0, nullptr); }) ==
        error_text([&] { load(options_of(source, folder, true), 0, nullptr); }));
}

TEST_CASE("words of rows that are left out are no features, in memory and by position") {
  const TemporaryFolder folder;
  std::string text = "x,w,y\n";
  for (int i = 0; i < 3000; ++i) text += fmt::format("{},{},{}\n", i, i % 2 == 0 ? "blue" : "red", i % 3);
  Csv source;
  source.labels = labels_in(std::string("y"));
  source.encoding.entries = {{"w", OneHotEncoding{}}};
  source.file = config::Path{folder.write("table.csv", text + "broken,zzz,1\n1,zzz,broken\n")};
  check_table(source, folder, OnBadExample::kSkip);
  DataOptions options = options_of(source, folder, true);
  options.on_bad_example = OnBadExample::kSkip;
  const Splits splits = load(options, 0, nullptr);
  CHECK(splits.adapted.table->features[1].words == std::vector<std::string>{"blue", "red"});
  CHECK(splits.train.features(0).shape == Shape{3000, 3});
}

TEST_CASE("long rows, and rows behind which many are left out, are read by position as in memory") {
  const TemporaryFolder folder;
  std::string long_word, bad, good;
  for (int i = 0; i < 50000; ++i) long_word += "a\n,";
  for (int i = 0; i < 15000; ++i) bad += "broken,red,1\n";
  for (int i = 0; i < 50; ++i) good += fmt::format("{},blue,{}\n", i, i % 3);
  const std::string long_row = "1,\"" + long_word + "\",2\n";
  Csv source;
  source.labels = labels_in(std::string("y"));
  source.encoding.entries = {{"w", IndexEncoding{}}};
  source.file = config::Path{folder.write("table.csv", "x,w,y\n" + good + bad + long_row + good + long_row + bad)};
  check_table(source, folder, OnBadExample::kSkip);
  DataOptions held = options_of(source, folder, true), read = options_of(source, folder, false);
  for (DataOptions* const options : {&held, &read}) options->on_bad_example = OnBadExample::kSkip;
  const Dataset in_memory = load(held, 0, nullptr).train, by_position = load(read, 0, nullptr).train;
  REQUIRE(in_memory.rows() == 102);
  std::vector<std::byte> of_memory, of_position;
  const std::size_t bytes = in_memory.features(0).row_bytes();
  for (const std::int64_t row : {49, 50, 51, 101}) {
    CHECK(std::memcmp(by_position.features(0).rows_at(row, 1, of_position),
                      in_memory.features(0).rows_at(row, 1, of_memory), bytes) == 0);
  }
}

/// Checks a table in memory and by position with labels that may be missing; returns how many are.
std::int64_t missing_labels(const std::string& text, const LabelColumns& labels, const TemporaryFolder& folder) {
  Csv source;
  source.file = config::Path{folder.write("table.csv", text)};
  source.labels.one = config::Located<CsvLabels>{CsvLabels(labels), {}, {}};
  check_table(source, folder);
  const Dataset held = load(options_of(source, folder, true), 0, nullptr).train,
                read = load(options_of(source, folder, false), 0, nullptr).train;
  std::int64_t missing = 0;
  for (std::int64_t row = 0; row < held.rows(); ++row) {
    const bool is_present = held.outputs()[0].is_present(row);
    REQUIRE(read.outputs()[0].is_present(row) == is_present);
    if (!is_present) ++missing;
  }
  return missing;
}

TEST_CASE("whether NA is a class is found in rows far behind it") {
  const TemporaryFolder folder;
  const LabelColumns label{std::string("label"), MissingLabel::kIgnore};
  std::string marks = "a,label\n";
  for (int i = 0; i < 50000; ++i) marks += fmt::format("{:>57},NA\n", i);  // more than is searched at once
  CHECK(missing_labels(marks + "7,\n8,\n9,cat\n10,dog\n", label, folder) == 2);
  CHECK(missing_labels(marks + "7,\n8,\"\"\n\n9,1\n10,0\n", label, folder) == 50002);
}

TEST_CASE("an empty cell in quotes is a missing label, whatever the rows before say") {
  const TemporaryFolder folder;
  const LabelColumns labels{std::vector<CsvColumn>{std::string("b"), std::string("c")}, MissingLabel::kIgnore};
  std::string text;
  for (int i = 0; i < 50; ++i) text += fmt::format("{},{},{}\n", i, i % 2, i % 3);
  const std::string missing = "1,\"\",\"\"\n2,1,\"\"\n";
  CHECK(missing_labels("a,b,c\n" + missing + text + missing, labels, folder) == 4);
}

TEST_CASE("a table that changes while its rows are read is an error that names it") {
  const TemporaryFolder folder;
  Csv source;
  source.labels = labels_in(std::string("y"));
  source.encoding.entries = {{"color", OneHotEncoding{}}};
  source.missing = missing_in(MissingIsMean{});
  const std::string header = "x,color,size,count,y\n", path = folder.write("table.csv", flowers(2000, header));
  source.file = config::Path{path};
  const Dataset read = load(options_of(source, folder, false), 0, nullptr).train;
  std::vector<std::byte> scratch;
  std::ofstream(path, std::ios::in | std::ios::out) << std::string(300, '?');
  CHECK(contains(error_text([&] { read.features(0).rows_at(0, 1, scratch); }), path + ": this data file was changed"));
  std::filesystem::resize_file(path, 100);
  CHECK(contains(error_text([&] { read.features(0).rows_at(1999, 1, scratch); }),
                 path + ": this data file became shorter"));
}

TEST_CASE("numbers that are not finite are found by position too") {
  const TemporaryFolder folder;
  std::vector<float> all = numbers<float>(kRows * kWidth);
  all[40 * kWidth + 2] = std::numeric_limits<float>::infinity();
  all[50 * kWidth] = std::numeric_limits<float>::quiet_NaN();
  Npy source;
  source.features =
      Files(config::Path{folder.write("x.npy", npy("<f4", false, shape_text(kRows, kWidth), bytes_of(all)))});
  source.labels.one = config::Path{folder.write("labels.npy", labels_npy(kRows))};
  const std::string held = error_text([&] { load(options_of(source, folder, true), 0, nullptr); });
  CHECK(contains(held, "row 40"));
  CHECK(error_text([&] { load(options_of(source, folder, false), 0, nullptr); }) == held);
  for (const bool in_memory : {true, false}) {
    DataOptions options = options_of(source, folder, in_memory);
    options.on_bad_example = OnBadExample::kSkip;
    const Dataset left = load(options, 0, nullptr).train;
    CHECK(left.rows() == kRows - 2);
    CHECK(left.left_out()->rows == std::vector<std::int64_t>{40, 50});
    CHECK(left.features(0).row_text(40) == folder.path("x.npy") + ": row 41 (counting from 0)");
  }
}

TEST_CASE("labels that may be missing are read by position where they take more than an index") {
  const TemporaryFolder folder;
  constexpr std::int64_t kLabels = 5;
  std::vector<float> labels = numbers<float>(kRows * kLabels);
  for (const std::int64_t row : {0, 7, 56}) labels[static_cast<std::size_t>(row * kLabels + 2)] = std::nanf("");
  Npy source;
  source.features = Files(config::Path{
      folder.write("x.npy", npy("<f4", false, shape_text(kRows, kWidth), bytes_of(numbers<float>(kRows * kWidth))))});
  for (const bool in_columns : {false, true}) {
    source.labels.one = LabelFiles{Files(config::Path{folder.write(
                                       "y.npy", npy("<f4", in_columns, shape_text(kRows, kLabels), bytes_of(labels)))}),
                                   MissingLabel::kIgnore};
    const Dataset held = load(options_of(source, folder, true), 0, nullptr).train,
                  read = load(options_of(source, folder, false), 0, nullptr).train;
    CHECK(read.labels(0).is_by_position());
    for (std::int64_t row = 0; row < kRows; ++row) {
      CHECK(read.outputs()[0].is_present(row) == held.outputs()[0].is_present(row));
    }
    check_source(source, folder);
  }
}

TEST_CASE("a truncated or longer file is refused as one that is read into memory") {
  const TemporaryFolder folder;
  const std::string whole = npy("<f4", false, shape_text(kRows, kWidth), bytes_of(numbers<float>(kRows * kWidth)));
  Npy source;
  source.labels.one = config::Path{folder.write("labels.npy", labels_npy(kRows))};
  for (const std::string& content : {whole.substr(0, whole.size() - 8), whole.substr(0, 200), whole + "more"}) {
    source.features = Files(config::Path{folder.write("x.npy", content)});
    const std::string held = error_text([&] { load(options_of(source, folder, true), 0, nullptr); });
    CHECK(held != "no error");
    CHECK(error_text([&] { load(options_of(source, folder, false), 0, nullptr); }) == held);
  }
}

/// All rows in a mixed order, as a replica gets them.
std::vector<float> fed(const Dataset& dataset, const std::vector<PreprocessingStep>& steps, const OneSpec& spec,
                       bool trains) {
  FeederOptions options{.ahead = {4096, 2}, .trains = trains, .seed = 3};
  const Feeder feeder(dataset, steps, spec, options);
  std::vector<std::int64_t> rows(static_cast<std::size_t>(dataset.rows()));
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int64_t>(i * 10 % rows.size());
  feeder.expect(rows, 1);
  const std::int64_t width = spec.features.elements(), label_width = spec.labels.elements();
  std::vector<float> x(rows.size() * static_cast<std::size_t>(width)),
      y(rows.size() * static_cast<std::size_t>(label_width));
  const auto view = [&](std::vector<float>& to, std::int64_t of_row) {
    return TensorView(DType::kFloat32, {dataset.rows(), of_row}, reinterpret_cast<std::byte*>(to.data()));
  };
  feeder.fill(rows, one_batch(view(x, width), view(y, label_width)), 1);
  x.insert(x.end(), y.begin(), y.end());
  return x;
}

TEST_CASE("a replica gets the same bits of rows that are read by position") {
  const TemporaryFolder folder;
  Npy source;
  const std::vector<PreprocessingStep> scaled{Rescaling{{}, 1.0 / 255, -0.3}};
  const auto check = [&](const std::string& x, const std::string& y, const std::vector<PreprocessingStep>& steps,
                         const OneSpec& spec) {
    source.features = Files(config::Path{folder.write("x.npy", x)});
    source.labels.one = config::Path{folder.write("y.npy", y)};
    const Dataset held = load(options_of(source, folder, true), 0, nullptr).train;
    const Dataset read = load(options_of(source, folder, false), 0, nullptr).train;
    for (const bool trains : {false, true}) CHECK(fed(read, steps, spec, trains) == fed(held, steps, spec, trains));
    InputSpec input;
    input.name = "input";
    input.shape = spec.features;
    Normalization normalization;
    normalization.adapt = true;
    std::vector<PreprocessingStep> adapting = steps;
    adapting.emplace_back(normalization);
    const AdaptedSteps of_held = adapt(adapting, held, {input}, 1), of_read = adapt(adapting, read, {input}, 2);
    CHECK(of_held.normalizations.front().mean == of_read.normalizations.front().mean);
    CHECK(of_held.normalizations.front().variance == of_read.normalizations.front().variance);
    Discretization discretization;
    discretization.num_bins = 7;
    adapting.back() = discretization;
    CHECK(adapt(adapting, held, {input}, 1).bin_boundaries == adapt(adapting, read, {input}, 1).bin_boundaries);
    const auto binned = with_adapted(adapting, adapt(adapting, held, {input}, 1));
    if (std::ranges::none_of(steps, is_of_pictures))
      CHECK(fed(read, binned, spec, false) == fed(held, binned, spec, false));
  };
  const auto x_of = [&](auto type, const char* descr) {
    return npy(descr, false, shape_text(kRows, kWidth), bytes_of(numbers<decltype(type)>(kRows * kWidth)));
  };
  constexpr std::int64_t kLabels = 5;  // of 20 and 40 bytes, which are read by position too
  const std::string floats = npy("<f4", false, shape_text(kRows, kLabels), bytes_of(numbers<float>(kRows * kLabels)));
  const std::string doubles = npy("<f8", false, shape_text(kRows, kLabels), bytes_of(numbers<double>(kRows * kLabels)));
  const OneSpec spec{.features = {kWidth}, .labels = {kLabels}};
  check(x_of(std::uint8_t{}, "|u1"), floats, scaled, spec);
  check(x_of(std::int64_t{}, "<i8"), doubles, scaled, spec);
  check(x_of(double{}, "<f8"), floats, scaled, spec);
  check(x_of(float{}, "<f4"), doubles, {}, spec);
  const std::string pictures =
      npy("|u1", false, fmt::format("({}, 2, 3, 1)", kRows), bytes_of(numbers<std::uint8_t>(kRows * kWidth)));
  RandomFlip flip;
  check(pictures, floats, {Rescaling{{}, 1.0 / 255, 0}, flip}, {.features = {2, 3, 1}, .labels = {kLabels}});
  MixUp mix;
  check(x_of(float{}, "<f4"), doubles, {Rescaling{{}, 0.7, 0}, mix}, spec);
}

TEST_CASE("more files than may be open are read by position") {
  const TemporaryFolder folder;
  std::vector<config::Path> files;
  constexpr int kFiles = 400;
  for (int i = 0; i < kFiles; ++i) {
    files.push_back({folder.write(fmt::format("{}.npy", i),
                                  npy("<f4", false, shape_text(1, kWidth), bytes_of(numbers<float>(kWidth))))});
  }
  Npy source;
  source.features = Files(files);
  source.labels.one = config::Path{folder.write("labels.npy", labels_npy(kFiles))};
  check_source(source, folder);
}

TEST_CASE("numbers at places of the ascending order are those of sorting") {
  std::vector<float> all;
  for (int i = 0; i < 5000; ++i) {
    all.push_back(i % 3 == 0 ? static_cast<float>(i % 17)
                             : static_cast<float>(std::sin(i) * std::pow(10.0, i % 60 - 30)));
  }
  const PassNumbers pass = [&](const std::function<void(std::span<const float>)>& take) {
    take(std::span(all).first(1000));
    take(std::span(all).subspan(1000));
  };
  const std::vector<std::size_t> ranks{0, 1, 49, 2000, 2001, 4998, 4999};
  const std::vector<float> found = select_ranks(pass, ranks);
  std::vector<float> sorted = all;
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < ranks.size(); ++i) CHECK(found[i] == sorted[ranks[i]]);
}

TEST_CASE("a data file that changes while rows are read from it is an error that names it") {
  const TemporaryFolder folder;
  Npy source;
  const std::string content = npy("<f4", false, shape_text(kRows, kWidth), bytes_of(numbers<float>(kRows * kWidth)));
  source.labels.one = config::Path{folder.write("labels.npy", labels_npy(kRows))};
  const auto error_after = [&](const auto& change) {
    const std::string path = folder.write("x.npy", content);
    source.features = Files(config::Path{path});
    const Dataset read = load(options_of(source, folder, false), 0, nullptr).train;
    change(path);
    std::vector<std::byte> scratch;
    std::this_thread::sleep_for(std::chrono::milliseconds(700));  // it is looked at twice in a second
    const std::string text = error_text([&] { read.features(0).rows_at(kRows - 1, 1, scratch); });
    if (text != "no error") CHECK(contains(text, path + ": this data file "));
    return text;
  };
  CHECK(contains(error_after([](const std::string& path) { std::filesystem::resize_file(path, 300); }),
                 "became shorter, 300 bytes of "));
  CHECK(contains(error_after([](const std::string& path) { std::ofstream(path, std::ios::in | std::ios::out) << "x"; }),
                 "was changed, while the run reads it; restore it, and resume the run"));
  // Whose bytes stay for as long as it is open.
  CHECK(error_after([](const std::string& path) { std::filesystem::remove(path); }) == "no error");
}

}  // namespace
}  // namespace mirrortrain::data
