#include "report/tensorboard.h"

#include <doctest/doctest.h>

#include <bit>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/crc32c.h"
#include "error_text.h"
#include "report/tensorboard_record.h"
#include "temporary_folder.h"

using namespace mirrortrain;
using namespace mirrortrain::report;
namespace fs = std::filesystem;

namespace {

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  return files;
}

std::string only_file_in(const fs::path& folder) {
  const std::vector<fs::path> files = files_in(folder);
  REQUIRE(files.size() == 1);
  CHECK(files[0].filename().string().starts_with("events.out.tfevents."));
  return read_text_file(files[0]);
}

template <class Number>
Number number_at(std::string_view bytes, std::size_t place) {
  REQUIRE(place + sizeof(Number) <= bytes.size());
  Number number;
  std::memcpy(&number, bytes.data() + place, sizeof number);
  return number;
}

/// The payloads of the records, both checksums of each checked.
std::vector<std::string> payloads_of(std::string_view file) {
  const auto unmasked = [](std::uint32_t crc) { return std::rotl(crc - 0xA282EAD8u, 15); };
  const auto checksum = [](std::string_view bytes) { return crc32c_of(std::as_bytes(std::span(bytes))); };
  std::vector<std::string> payloads;
  while (!file.empty()) {
    const auto length = number_at<std::uint64_t>(file, 0);
    CHECK(checksum(file.substr(0, 8)) == unmasked(number_at<std::uint32_t>(file, 8)));
    payloads.emplace_back(file.substr(12, length));
    CHECK(checksum(payloads.back()) == unmasked(number_at<std::uint32_t>(file, 12 + length)));
    file.remove_prefix(16 + length);
  }
  return payloads;
}

/// Scalars by "tag@step", read as protocol buffers are: fields in turn.
class Scalars {
 public:
  explicit Scalars(const std::vector<std::string>& payloads) {
    for (const std::string& payload : payloads) {
      step_ = 0;
      read_event(payload);
    }
  }
  std::map<std::string, float> values;
  std::string version;
  std::optional<std::uint64_t> session_start;

 private:
  static std::uint64_t varint(std::string_view& bytes) {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes.at(0));
      bytes.remove_prefix(1);
      value |= std::uint64_t{byte & 127u} << shift;
      if (byte < 128) return value;
    }
  }
  static std::string_view taken(std::string_view& bytes, std::size_t count) {
    const std::string_view front = bytes.substr(0, count);
    bytes.remove_prefix(count);
    return front;
  }
  void read_event(std::string_view bytes) {
    while (!bytes.empty()) {
      switch (const std::uint64_t key = varint(bytes)) {
        case 1 << 3 | 1: CHECK(number_at<double>(taken(bytes, 8), 0) > 1.6e9); break;
        case 2 << 3 | 0: step_ = varint(bytes); break;
        case 3 << 3 | 2: version = taken(bytes, varint(bytes)); break;
        case 5 << 3 | 2: read_summary(taken(bytes, varint(bytes))); break;
        case 7 << 3 | 2:
          CHECK(taken(bytes, varint(bytes)) == "\x08\x01");
          session_start = step_;
          break;
        default: FAIL("unknown key ", key);
      }
    }
  }
  void read_summary(std::string_view bytes) {
    while (!bytes.empty()) {
      REQUIRE(varint(bytes) == (1 << 3 | 2));
      std::string_view value = taken(bytes, varint(bytes));
      REQUIRE(varint(value) == (1 << 3 | 2));
      const std::string tag(taken(value, varint(value)));
      REQUIRE(varint(value) == (2 << 3 | 5));
      values[tag + "@" + std::to_string(step_)] = number_at<float>(taken(value, 4), 0);
      CHECK(value.empty());
    }
  }

  std::uint64_t step_ = 0;
};

}  // namespace

TEST_CASE("for which workers the others waited, and the staleness of updates, are scalars") {
  const TemporaryFolder folder;
  TensorBoardWriter writer(folder.path());
  writer.write(StepEvent{.step = 1, .waited_for = {{"worker 0", 0.125}, {"worker 1", 0.5}}, .staleness = {2, 0, 2}});
  WaitedForWorkers many;
  for (int i = 0; i < 17; ++i) many.emplace_back("worker " + std::to_string(i), i / 32.0);
  writer.write(StepEvent{.step = 2, .waited_for = many});
  const std::map<std::string, float> values = Scalars(payloads_of(only_file_in(folder.path()))).values;
  CHECK(values == std::map<std::string, float>{{"examples_per_second@1", 0.0f},
                                               {"examples_per_second@2", 0.0f},
                                               {"waited_for/worker_0@1", 0.125f},
                                               {"waited_for/worker_1@1", 0.5f},
                                               {"staleness/mean@1", 1.0f},
                                               {"staleness/largest@1", 2.0f},
                                               {"waited_for/largest@2", 0.5f}});
}

TEST_CASE("every event's scores are scalars at its step, of sub-runs that share charts") {
  const TemporaryFolder folder;
  TensorBoardWriter writer(folder.path());
  writer.write(ProgressEvent{.step = 1});
  writer.write(StepEvent{.step = 300,
                         .epoch = 1,
                         .scores = Scores{0.5, {{"accuracy", 0.75}}},
                         .learning_rate = 0.125,
                         .examples_per_second = 51000,
                         .state = {{"counter", std::int64_t{470}, {}}, {"none", std::nullopt, {}}}});
  writer.write(EpochEvent{
      .step = 301, .scores = Scores{0.25, {{"accuracy", 0.5}}}, .validation = Scores{2.0, {{"accuracy", 1.0}}}});
  writer.write(EvaluationEvent{"test", 301, 100, {4.0, {{"accuracy", 0.0625}}}});
  writer.write(EndEvent{});
  const auto scalars_of = [&](const char* sub_run) {
    const Scalars scalars(payloads_of(only_file_in(folder / sub_run)));
    CHECK(scalars.version == "brain.Event:2");
    CHECK(scalars.session_start == 0);
    return scalars.values;
  };
  using Values = std::map<std::string, float>;
  CHECK(scalars_of("train") ==
        Values{{"loss@300", 0.5f}, {"accuracy@300", 0.75f}, {"epoch_loss@301", 0.25f}, {"epoch_accuracy@301", 0.5f}});
  CHECK(scalars_of("validation") == Values{{"loss@301", 2.0f}, {"accuracy@301", 1.0f}});
  CHECK(scalars_of("test") == Values{{"loss@301", 4.0f}, {"accuracy@301", 0.0625f}});
  CHECK(scalars_of("") ==
        Values{{"learning_rate@300", 0.125f}, {"examples_per_second@300", 51e3f}, {"state/counter@300", 470.0f}});
}

TEST_CASE("a resumed run begins a session at the step after the checkpoint's, in files of its own") {
  const TemporaryFolder folder;
  {
    TensorBoardWriter writer(folder.path(), 500, {"validation"});
    for (const char* const sub_run : {"", "validation"}) {
      CHECK(Scalars(payloads_of(only_file_in(folder / sub_run))).session_start == 501);
    }
    CHECK_FALSE(fs::exists(folder / "test"));
    writer.write(EvaluationEvent{"test", 600, 100, {4.0, {}}});
    CHECK(Scalars(payloads_of(only_file_in(folder / "test"))).session_start == 501);
  }
  fs::remove(files_in(folder / "test").at(0));
  const TensorBoardWriter writer(folder.path(), 700);
  CHECK(files_in(folder.path()).size() == 2);
  CHECK(Scalars(payloads_of(only_file_in(folder / "test"))).session_start == 701);
  CHECK(contains(error_text([&] { TensorBoardWriter(folder / "none"); }), "No such file or directory"));
}
