#include "data/arrays/hdf5.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "data/arrays/hdf5_dataset.h"
#include "data/files.h"
#include "data/loading/load.h"

namespace mirrortrain::data {
namespace {

// Written by h5py: tools/reference/data_formats.py.
const std::string kArrays = (std::filesystem::path(MIRRORTRAIN_SOURCE_DIR) / "tests/formats/arrays.h5").string();

Hdf5 datasets(const std::string& features, const std::string& labels = "group/y", const std::string& file = kArrays) {
  Hdf5 source;
  source.file = config::Path{file};
  source.features = features;
  source.labels.one = labels;
  return source;
}

/// Whether this program cannot read HDF5, which it says.
bool is_without_hdf5() {
  const std::string error = error_text([] { read(datasets("x")); });
  return contains(error, "this program cannot read HDF5");
}

template <class T>
std::vector<double> numbers_in(const Array& array) {
  const auto span = array.span<T>();
  return {span.begin(), span.end()};
}

TEST_CASE("datasets of HDF5 are read in their type, contiguous or in chunks, deflated or not") {
  if (is_without_hdf5()) return;
  std::vector<double> x;
  for (int i = 0; i < 50; ++i) x.push_back(i / 4.0);
  for (const char* name : {"x", "deflated", "in_chunks", "/half", "half"}) {
    CAPTURE(name);
    const Examples examples = read(datasets(name));
    CHECK(examples.inputs[0].array.shape == Shape{10, 5});
    CHECK(examples.inputs[0].array.dtype == DType::kFloat32);
    CHECK(numbers_in<float>(examples.inputs[0].array) == x);
    CHECK(numbers_in<std::int32_t>(examples.outputs[0].array) == std::vector<double>{0, 1, 2, 0, 1, 2, 0, 1, 2, 0});
  }
  CHECK(read(datasets("x")).inputs[0].array.row_text(3) == kArrays + ": x: row 3 (counting from 0)");
  const Examples of_yes = read(datasets("yes"));
  const Array& yes = of_yes.inputs[0].array;
  CHECK(yes.dtype == DType::kUint8);
  CHECK(numbers_in<std::uint8_t>(yes) == std::vector<double>{1, 0, 1, 0, 1, 0, 1, 0, 1, 0});
  for (const char* name : {"cubes", "deflated_cubes"}) {
    const Examples examples = read(datasets(name));
    const Array& cubes = examples.inputs[0].array;
    CHECK(cubes.shape == Shape{10, 2, 3, 2});
    for (int i = 0; i < 120; ++i) CHECK(cubes.span<std::uint8_t>()[static_cast<std::size_t>(i)] == i);
  }
}

TEST_CASE("datasets that are read by position have the rows of those in memory") {
  if (is_without_hdf5()) return;
  const TemporaryFolder folder;
  for (const char* name : {"x", "deflated", "in_chunks", "half", "cubes", "deflated_cubes"}) {
    CAPTURE(name);
    DataOptions options;
    options.train.value = datasets(name);
    options.cache_directory = config::Path{folder.path("cache")};
    const Dataset held = load(options, 0, nullptr).train;
    options.memory = config::Size{1};
    const Dataset read = load(options, 0, nullptr).train;
    CHECK_FALSE(held.features(0).is_by_position());
    CHECK(read.features(0).is_by_position());
    std::vector<std::byte> scratch, none;
    for (std::int64_t row = 9; row >= 0; --row) {
      CHECK(std::memcmp(read.features(0).rows_at(row, 1, scratch), held.features(0).rows_at(row, 1, none),
                        held.features(0).row_bytes()) == 0);
    }
  }
}

TEST_CASE("datasets that cannot be read are refused by name") {
  if (is_without_hdf5()) return;
  const TemporaryFolder folder;
  const auto error = [](const Hdf5& source) { return error_text([&] { read(source); }); };
  CHECK(contains(error(datasets("z")), "arrays.h5: there is no dataset 'z' in it, but [cubes, deflated, "));
  CHECK(contains(error(datasets("lzf")), "arrays.h5: lzf: it is compressed by the filter 'lzf' (number 32000)"));
  CHECK(contains(error(datasets("texts")), "arrays.h5: texts: expected numbers, found texts"));
  CHECK(contains(error(datasets("number")), "expected one row per example, found a single number"));
  CHECK(contains(error(datasets("unwritten")), "of its 6 chunks 0 were written"));
  CHECK(contains(error(datasets("x", "y", folder.write("no.h5", "no"))), "is no HDF5 file, or is damaged"));
  CHECK(
      contains(error(datasets("x", "y", folder.write("empty.h5", ""))), "expected an HDF5 file, found an empty file"));
  const std::string whole = read_text_file(kArrays);
  for (std::size_t bytes = 0; bytes < whole.size(); bytes += 900) {
    const std::string cut = folder.write("cut.h5", whole.substr(0, bytes));
    CHECK(error(datasets("deflated", "group/y", cut)) != "no error");
  }
  std::string damaged = whole;
  const std::size_t deflated = whole.find("\x78\x5e");  // of a chunk
  REQUIRE(deflated != std::string::npos);
  damaged[deflated + 8] ^= 0x55;
  const std::string file = folder.write("damaged.h5", damaged);
  CHECK((contains(error(datasets("deflated", "group/y", file)), "a chunk of rows") ||
         contains(error(datasets("deflated_cubes", "group/y", file)), "a chunk of rows")));
}

TEST_CASE("chunks that cannot be as large as a damaged file says claim no memory") {
  const TemporaryFolder folder;
  Hdf5Dataset dataset{
      folder.write("a.h5", std::string(100, 'x')), "a.h5: x", element_in_memory(DType::kFloat32), {1, 1}};
  dataset.chunk = {1, 1 << 28};
  const auto error = [&](std::uint64_t offset, std::uint32_t bytes) {
    dataset.chunks = {{offset, bytes, 0}};
    std::vector<std::byte> some(4);
    return error_text([&] { open_dataset(std::make_shared<Hdf5Dataset>(dataset))->read(some); });
  };
  CHECK(contains(error(90, 11), "a chunk of rows 0 and later is damaged: the file ends in it"));
  CHECK(contains(error(101, 1), "the file ends in it"));
  CHECK(contains(error(~std::uint64_t{0}, 0xffffffff), "the file ends in it"));
  dataset.filters = {Hdf5Dataset::Filter::kDeflate};
  CHECK(contains(error(90, 10), "10 bytes cannot be inflated to 1073741824"));
}

TEST_CASE("a dataset that the library is too old for is named as that, with the remedy") {
  if (is_without_hdf5()) return;
  const std::string newer = (std::filesystem::path(MIRRORTRAIN_SOURCE_DIR) / "tests/formats/newer.h5").string();
  const std::vector<std::string> names = hdf5_datasets(newer);
  CHECK(names == std::vector<std::string>{"x", "y"});
  const std::string error = error_text([&] { read(datasets("x", "y", newer)); });
  if (error == "no error") return;  // it is new enough
  CHECK_MESSAGE(contains(error, "newer.h5: x: HDF5 1."), error);
  CHECK(contains(error, "write it with libver=\"v110\", or without libver"));
}

TEST_CASE("no other file is opened: neither through a link to a link, nor for the extents of a virtual dataset") {
  if (is_without_hdf5()) return;
  // Its links lead to x of arrays.h5, beside it.
  const std::string linked = (std::filesystem::path(MIRRORTRAIN_SOURCE_DIR) / "tests/formats/linked.h5").string();
  CHECK(hdf5_datasets(linked) == std::vector<std::string>{"same_y", "virtual", "y"});
  const auto error = [&](const char* name) { return error_text([&] { read(datasets(name, "y", linked)); }); };
  CHECK(contains(error("soft"), "linked.h5: there is no dataset 'soft' in it, but [same_y, virtual, y]"));
  CHECK(contains(error("external"), "there is no dataset 'external' in it"));
  CHECK(contains(error("in_group"), "there is no dataset 'in_group' in it"));
  CHECK(contains(error("virtual"), "linked.h5: virtual: is made of other files' datasets; copy it into a file"));
  CHECK(read(datasets("same_y", "y", linked)).inputs[0].array.shape == Shape{10});
  const TemporaryFolder folder;
  const std::string copy = folder.write("linked.h5", read_text_file(linked));
  REQUIRE(::mkfifo(folder.path("arrays.h5").c_str(), 0600) == 0);  // to open it would take forever
  CHECK(read(datasets("y", "y", copy)).inputs[0].array.shape == Shape{10});
  CHECK(error_text([&] { read(datasets("virtual", "y", copy)); }) != "no error");
}

TEST_CASE("inputs, outputs and missing labels are datasets by name") {
  if (is_without_hdf5()) return;
  Hdf5 source;
  source.file = config::Path{kArrays};
  source.inputs.entries = {{"a", "x"}, {"b", "cubes"}};
  source.labels.named.entries = {{"c", "group/y"}, {"d", LabelDataset{"half", MissingLabel::kIgnore}}};
  const Examples examples = read(source);
  CHECK(examples.inputs[1].name == "b");
  CHECK(examples.inputs[1].array.shape == Shape{10, 2, 3, 2});
  CHECK(examples.outputs[1].present.has_value());
  source.inputs.entries[1].second = "nothing";
  CHECK(contains(error_text([&] { read(source); }), "say in 'inputs.b' which one to take"));
}

}  // namespace
}  // namespace mirrortrain::data
