#include "cli/program.h"

#include <cstdlib>
#include <fstream>

#include "base/json.h"

namespace mirrortrain::testing {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE_MESSAGE(at != std::string::npos, from);
  return text.replace(at, from.size(), to);
}

Outcome run_script(const TemporaryFolder& folder, const std::string& script) {
  const fs::path out = folder / "stdout.txt", err = folder / "stderr.txt";
  setenv("MIRRORTRAIN", MIRRORTRAIN_EXECUTABLE, 1);
  const std::string command =
      fmt::format("cd '{}' && {{ {}\n}} > '{}' 2> '{}'", folder.path().string(), script, out.string(), err.string());
  const int status = std::system(command.c_str());
  Outcome outcome{WEXITSTATUS(status), read_text_file(out), read_text_file(err)};
  fs::remove(out);
  fs::remove(err);
  return outcome;
}

Outcome run_program(const TemporaryFolder& folder, const std::string& arguments) {
  return run_script(folder, "\"$MIRRORTRAIN\" " + arguments);
}

std::string is_writing(const std::string& file) {
  return fmt::format(
      "{{ grep -q '^SigCgt:.*[4-7c-f]...$' /proc/$pid/status && "
      "{{ ls -l /proc/$pid/fd 2> /dev/null | grep -q \"$PWD/.*deleted\" || find . -name '{}*tmp' | grep -q .; }}; }}",
      file);
}

std::string until_checkpoint(const std::string& run) {
  // Of any step: a run keeps the newest ones alone.
  return fmt::format(
      "while kill -0 $! 2> /dev/null && set -- {}/checkpoints/step-?????? && [ ! -e \"$1\" ]; do sleep 0.002; done; ",
      run);
}

nlohmann::json parsed(const std::string& text) { return parse_json<nlohmann::json>(text); }

std::vector<nlohmann::json> events_of(const fs::path& file) {
  std::vector<nlohmann::json> events;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) events.push_back(parsed(line));
  return events;
}

std::vector<nlohmann::json> timeless(std::vector<nlohmann::json> events) {
  for (nlohmann::json& event : events) {
    event.erase("seconds");
    event.erase("examples_per_second");
    event.erase("waiting");
    event.erase("waiting_for_data");
    event.erase("waited_for");
    event.erase("staleness");
  }
  return events;
}

std::string repository_file(const std::string& name) { return (fs::path(MIRRORTRAIN_SOURCE_DIR) / name).string(); }

}  // namespace mirrortrain::testing
