// The table that `mirrortrain runs` prints, in terminals of several widths.
#include "train/runs/run_table.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/utf8.h"
#include "error_text.h"
#include "temporary_folder.h"
#include "train/runs/summary.h"

namespace mirrortrain {
namespace {

RunRow run_with(int keys) {
  RunRow run;
  run.name = "short";
  run.status = "done";
  for (int i = 0; i < keys; ++i) run.differs.emplace_back(fmt::format("key{}", i), fmt::format("value{}", i));
  return run;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);) lines.push_back(line);
  return lines;
}

TEST_CASE("a run shows at most eight keys, and how many more differ; one more takes no less room than saying so") {
  for (const int keys : {1, 8, 9}) {
    CAPTURE(keys);
    const std::string text = run_table({run_with(keys)}, 0);
    CHECK(contains(text, fmt::format("key{0}=value{0}", keys - 1)));
    CHECK_FALSE(contains(text, "more keys"));
  }
  const std::string text = run_table({run_with(10)}, 0);
  CHECK(contains(text, "key7=value7  and 2 more keys\n"));
  CHECK_FALSE(contains(text, "key8"));
  const auto json = parse_json<nlohmann::json>(run_table_json({run_with(10)}));
  CHECK(json["runs"][0]["differs"].size() == 10);
}

TEST_CASE("what a run does not have is no key that is shown, nor one of the eight") {
  RunRow run = run_with(8);
  run.differs.insert(run.differs.begin(), {{"absent", "-"}, {"gone", "-"}});
  const std::string text = run_table({run}, 0);
  CHECK(contains(text, "key7=value7"));
  CHECK_FALSE(contains(text, "absent"));
  CHECK_FALSE(contains(text, "more keys"));
}

TEST_CASE("a long name loses its middle where the terminal is narrow, so that its end can be told from others'") {
  std::vector<RunRow> runs(2, run_with(0));
  runs[0].name = "a-study-of-many-options-with-a-long-name/learning_rate=0.001,units=64,seed=1";
  runs[1].name = "a-study-of-many-options-with-a-long-name/learning_rate=0.001,units=64,seed=2";
  for (const std::size_t width : {60U, 72U, 80U}) {
    CAPTURE(width);
    const std::vector<std::string> lines = lines_of(run_table(runs, width));
    REQUIRE(lines.size() == 3);
    for (const std::string& line : lines) CHECK_MESSAGE(display_width(line) <= width, line);
    for (std::size_t i = 1; i < lines.size(); ++i) {
      CHECK_MESSAGE(lines[i].starts_with("a-"), lines[i]);
      CHECK_MESSAGE(contains(lines[i], "..."), lines[i]);
      CHECK_MESSAGE(contains(lines[i], fmt::format(",seed={} ", i)), lines[i]);
    }
  }
  for (const std::size_t width : {0U, 200U}) {
    const std::string text = run_table(runs, width);
    CHECK(contains(text, runs[0].name));
    CHECK_FALSE(contains(text, "..."));
  }
}

TEST_CASE("a name of wide characters is cut between them") {
  RunRow run = run_with(0);
  run.name.clear();
  for (int i = 0; i < 60; ++i) run.name += "学";
  for (std::size_t width = 60; width < 80; ++width) {
    for (const std::string& line : lines_of(run_table({run}, width))) CHECK_MESSAGE(display_width(line) <= width, line);
  }
  const std::vector<std::string> lines = lines_of(run_table({run}, 60));
  CHECK_MESSAGE(contains(lines[1], "学...学"), lines[1]);
}

TEST_CASE("lines of keys are broken where the terminal ends, and a value that is longer than a line is cut") {
  RunRow run = run_with(3);
  run.differs[1].second = std::string(300, 'x');
  const std::string text = run_table({run}, 60);
  for (const std::string& line : lines_of(text)) CHECK_MESSAGE(display_width(line) <= 60, line);
  CHECK(contains(text, "\n    key0=value0\n    key1=xxx"));
  CHECK(contains(text, "...\n    key2=value2\n"));
}

TEST_CASE("what a damaged file of a run has in another form than runs write is as absent") {
  const TemporaryFolder folder;
  const std::filesystem::path run = folder / "a";
  std::filesystem::create_directory(run);
  write_file(run / "config.yaml", "name: a\n");
  write_file(run / "metrics.jsonl",
             "{\"event\": 1, \"step\": \"3\"}\n"
             "{\"event\": \"epoch\", \"step\": 4, \"validation\": {\"loss\": 1.5, \"metrics\": [0.5]}}\n");
  CHECK_FALSE(contains(run_table(list_runs(folder.path(), std::nullopt), 0), "exception"));
  for (const std::string status :
       {"[\"done\"]", "\"done\", \"step\": \"4\", \"callbacks\": [{\"ended_training\": 1}, 2]"}) {
    CAPTURE(status);
    write_file(run / "summary.json", "{\"status\": " + status + "}");
    CHECK(read_done_step(run / "summary.json").value_or(0) == 0);
    CHECK_FALSE(ended_early(run / "summary.json"));
  }
}

}  // namespace
}  // namespace mirrortrain
