#include "report/tensorboard_summary.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "report/tensorboard.h"
#include "temporary_folder.h"

using namespace mirrortrain;
using namespace mirrortrain::report;
namespace fs = std::filesystem;

namespace {

/// A protocol buffer message by the numbers of its fields; numbers as text.
class Fields {
 public:
  explicit Fields(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::uint64_t key = varint(bytes);
      std::vector<std::string>& field = fields_[static_cast<int>(key >> 3)];
      switch (key & 7) {
        case 0: field.push_back(std::to_string(static_cast<std::int64_t>(varint(bytes)))); break;
        case 1: field.emplace_back(taken(bytes, 8)); break;
        case 2: field.emplace_back(taken(bytes, varint(bytes))); break;
        case 5: field.emplace_back(taken(bytes, 4)); break;
        default: FAIL("unknown wire type");
      }
    }
  }
  const std::vector<std::string>& all(int number) { return fields_[number]; }
  std::string one(int number) {
    REQUIRE(fields_[number].size() == 1);
    return fields_[number][0];
  }
  Fields message(int number) { return Fields(one(number)); }

 private:
  static std::uint64_t varint(std::string_view& bytes) {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(taken(bytes, 1)[0]);
      value |= std::uint64_t{byte & 127u} << shift;
      if (byte < 128) return value;
    }
  }
  static std::string_view taken(std::string_view& bytes, std::size_t count) {
    REQUIRE(count <= bytes.size());
    const std::string_view front = bytes.substr(0, count);
    bytes.remove_prefix(count);
    return front;
  }

  std::map<int, std::vector<std::string>> fields_;
};

/// The events of a folder's files, in the order of the files' names.
std::vector<Fields> events_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  std::vector<Fields> events;
  for (const fs::path& file : files) {
    const std::string text = read_text_file(file);
    for (std::string_view rest = text; !rest.empty();) {
      std::uint64_t length = 0;
      std::memcpy(&length, rest.data(), sizeof length);
      events.emplace_back(rest.substr(12, length));
      rest.remove_prefix(16 + length);
    }
  }
  return events;
}

constexpr int kStep = 2, kGraph = 4, kSummary = 5, kSession = 7;  // of an event
constexpr int kTag = 1, kTensor = 8, kMetadata = 9;               // of a summary's value

/// The only value of an event.
Fields value_of(Fields& event) { return event.message(kSummary).message(1); }
std::string plugin_of(Fields& value) { return value.message(kMetadata).message(1).one(1); }

}  // namespace

TEST_CASE("histograms are tensors of edges and counts, in the sub-run of training") {
  const TemporaryFolder folder;
  TensorBoardWriter writer(folder.path());
  HistogramsEvent event{.step = 7, .epoch = 1};
  event.variables = {{"dense/kernel", {{{-1, 0, 2}, {0, 1.5, 3}}}}};
  event.gradients = {{"dense/kernel", {{{0, 1, 4}}}}};
  writer.write(event);
  std::vector<Fields> events = events_in(folder / "train");
  REQUIRE(events.size() == 3);  // the first two have the file's version and its session
  CHECK(events[2].one(kStep) == "7");
  const std::vector<std::string> values = events[2].message(kSummary).all(1);
  REQUIRE(values.size() == 2);
  Fields weights(values[0]), gradients(values[1]);
  CHECK(weights.one(kTag) == "dense/kernel/histogram");
  CHECK(gradients.one(kTag) == "dense/kernel/gradient_histogram");
  CHECK(plugin_of(weights) == "histograms");
  Fields tensor = weights.message(kTensor);
  CHECK(tensor.one(1) == "2");  // DT_DOUBLE
  const std::vector<std::string> sizes = tensor.message(2).all(2);
  REQUIRE(sizes.size() == 2);
  CHECK(Fields(sizes[0]).one(1) == "2");
  CHECK(Fields(sizes[1]).one(1) == "3");
  const double rows[] = {-1, 0, 2, 0, 1.5, 3};
  CHECK(tensor.one(4) == std::string(reinterpret_cast<const char*>(rows), sizeof rows));
}

TEST_CASE("pictures are strings behind their width and height") {
  const TemporaryFolder folder;
  TensorBoardWriter writer(folder.path());
  writer.write(PicturesEvent{.step = 3,
                             .split = "test",
                             .pictures = {{"mistakes/pictures", {28, 14, {"one", "two"}}}},
                             .texts = {{"mistakes/list", "| 7 |"}}});
  std::vector<Fields> events = events_in(folder / "test");
  REQUIRE(events.size() == 3);
  const std::vector<std::string> values = events[2].message(kSummary).all(1);
  REQUIRE(values.size() == 2);
  Fields value(values[0]), text(values[1]);
  CHECK(text.one(kTag) == "mistakes/list");
  CHECK(plugin_of(text) == "text");
  CHECK(value.one(kTag) == "mistakes/pictures");
  CHECK(plugin_of(value) == "images");
  Fields tensor = value.message(kTensor);
  CHECK(tensor.one(1) == "7");  // DT_STRING
  CHECK(tensor.all(8) == std::vector<std::string>{"28", "14", "one", "two"});
}

TEST_CASE("the configuration is a text, which a resumed run writes at its first step") {
  const TemporaryFolder folder;
  TensorBoardWriter(folder.path()).write_configuration("seed: 1\n");
  TensorBoardWriter(folder.path(), 40).write_configuration("seed: 1");
  std::vector<std::string> found;
  for (Fields& event : events_in(folder.path())) {
    if (!event.all(kSession).empty()) found.push_back("session at " + event.one(kStep));
    if (event.all(kSummary).empty()) continue;
    Fields value = value_of(event);
    CHECK(value.one(kTag) == "configuration");
    CHECK(plugin_of(value) == "text");
    CHECK(value.message(kTensor).one(8) == "```yaml\nseed: 1\n```\n");
    found.push_back("text at " + event.one(kStep));
  }
  CHECK(found == std::vector<std::string>{"session at 0", "text at 0", "session at 41", "text at 41"});
}

TEST_CASE("the graph has a node for each input and layer, and is not written again after a checkpoint") {
  const TemporaryFolder folder;
  const ModelNode nodes[] = {{"input", "input", {}, Shape{4}},
                             {"block/dense", "dense", {"input"}, Shape{3}, 15},
                             {"add", "add", {"block/dense", "input"}, Shape{3}}};
  TensorBoardWriter(folder.path()).write_graph(nodes);
  TensorBoardWriter(folder.path(), 40).write_graph(nodes);
  int graphs = 0;
  for (Fields& event : events_in(folder.path())) {
    if (event.all(kGraph).empty()) continue;
    ++graphs;
    Fields graph = event.message(kGraph);
    REQUIRE(graph.all(1).size() == 3);
    Fields dense(graph.all(1)[1]), add(graph.all(1)[2]);
    CHECK(dense.one(1) == "block/dense");
    CHECK(dense.one(2) == "dense");
    CHECK(add.all(3) == std::vector<std::string>{"block/dense", "input"});
    std::map<std::string, std::string> attributes;
    for (const std::string& entry : dense.all(5)) attributes[Fields(entry).one(1)] = Fields(entry).one(2);
    CHECK(Fields(attributes.at("parameters")).one(3) == "15");
    Fields shape = Fields(attributes.at("_output_shapes")).message(1).message(7);
    REQUIRE(shape.all(2).size() == 2);
    CHECK(Fields(shape.all(2)[0]).one(1) == "-1");
    CHECK(Fields(shape.all(2)[1]).one(1) == "3");
  }
  CHECK(graphs == 1);
  // A run that was killed before its first checkpoint may have been killed before it had written it.
  TensorBoardWriter(folder.path(), 0).write_graph(nodes);
  for (Fields& event : events_in(folder.path())) graphs += event.all(kGraph).empty() ? 0 : 1;
  CHECK(graphs == 1 + 2);
}
