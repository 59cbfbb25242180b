#include "report/tensorboard_hparams.h"

#include <doctest/doctest.h>

#include <cstring>
#include <span>

#include "base/crc32c.h"
#include "error_text.h"
#include "report/tensorboard_record.h"

namespace mirrortrain::report {
namespace {

/// The payloads of an events file whose records are whole.
std::vector<std::string> records_of(std::string_view file) {
  std::vector<std::string> records;
  while (file.size() >= 16) {
    std::uint64_t length = 0;
    std::memcpy(&length, file.data(), sizeof length);
    REQUIRE(file.size() >= 16 + length);
    records.emplace_back(file.substr(12, length));
    CHECK(tf_record(records.back()) == file.substr(0, 16 + length));
    file.remove_prefix(16 + length);
  }
  CHECK(file.empty());
  return records;
}

/// The bytes of a number after its key: little-endian.
std::string number_field(char key, double number) {
  std::string bytes(1 + sizeof number, key);
  std::memcpy(bytes.data() + 1, &number, sizeof number);
  return bytes;
}

// tools/reference/check_hparams.py reads a study's files with TensorBoard's own reader.

TEST_CASE("a session has its values by name and type, and how it ended") {
  const std::vector<std::string> records = records_of(
      hparams_session({"trial-0003", {{"rate", 0.25}, {"kind", std::string("adam")}, {"fast", true}}, true}));
  REQUIRE(records.size() == 3);
  CHECK(contains(records[0], "brain.Event:2"));
  CHECK(contains(records[1], "_hparams_/session_start_info"));
  CHECK(contains(records[1], "\x0A\x07hparams"));                                  // the plugin's name
  CHECK(contains(records[1], "\x0A\x04rate\x12\x09" + number_field(0x11, 0.25)));  // google.protobuf.Value
  CHECK(contains(records[1],
                 "\x0A\x04kind\x12\x06\x1A\x04"
                 "adam"));
  CHECK(contains(records[1],
                 "\x0A\x04"
                 "fast\x12\x02\x20\x01"));
  CHECK(contains(records[1], "\x22\x0Atrial-0003"));
  CHECK(contains(records[2], "_hparams_/session_end_info"));
  CHECK(contains(records[2], "\x08\x02"));  // STATUS_FAILURE
}

TEST_CASE("a session that is done has its result as a scalar of the metric's tag") {
  const std::vector<std::string> records =
      records_of(hparams_session({"trial-0003", {{"rate", 0.25}}, false, {{"validation accuracy", 0.5}}}));
  REQUIRE(records.size() == 4);
  const std::string half("\x15\x00\x00\x00\x3F", 5);  // Summary.Value's simple_value, a float
  CHECK(contains(records[2], "\x0A\x13validation accuracy" + half));
  CHECK(contains(records[3], "\x08\x01"));  // STATUS_SUCCESS
}

TEST_CASE("an experiment has the domains of its parameters, and the metric's tag") {
  const std::vector<std::string> records = records_of(
      hparams_experiment({{"rate", 0.5, {}, {0.25, 1}}, {"units", 4.0, {4.0, 8.0}, {}}}, "validation accuracy"));
  REQUIRE(records.size() == 2);
  CHECK(contains(records[1], "_hparams_/experiment"));
  CHECK(contains(records[1], "\x0A\x04rate\x20\x03\x32\x12" + number_field(0x09, 0.25) + number_field(0x11, 1)));
  CHECK(contains(records[1],
                 "\x0A\x05units\x20\x03\x2A\x16\x0A\x09" + number_field(0x11, 4) + "\x0A\x09" + number_field(0x11, 8)));
  CHECK(contains(records[1], "\x12\x13validation accuracy"));
}

}  // namespace
}  // namespace mirrortrain::report
