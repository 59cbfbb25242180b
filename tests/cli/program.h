#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/files.h"

namespace mirrortrain::testing {

namespace fs = std::filesystem;

/// A folder of its own that goes away with the test.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_(fs::temp_directory_path() / fmt::format("mirrortrain-test-{}-{}", getpid(), count_++)) {
    fs::create_directories(path_);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { fs::remove_all(path_); }

  fs::path operator/(const std::string& name) const { return path_ / name; }
  const fs::path& path() const { return path_; }

 private:
  static inline int count_ = 0;
  fs::path path_;
};

struct Outcome {
  int exit_code = 0;
  std::string out, err;
};

/// Runs a shell's script in `folder`, with the program as $MIRRORTRAIN.
inline Outcome run_script(const TemporaryFolder& folder, const std::string& script) {
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

/// Runs the program in `folder` with a shell's arguments.
inline Outcome run_program(const TemporaryFolder& folder, const std::string& arguments) {
  return run_script(folder, "\"$MIRRORTRAIN\" " + arguments);
}

/// The lines of a metrics.jsonl.
inline std::vector<nlohmann::json> events_of(const fs::path& file) {
  std::vector<nlohmann::json> events;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) events.push_back(nlohmann::json::parse(line));
  return events;
}

/// The events without what no two runs share.
inline std::vector<nlohmann::json> timeless(std::vector<nlohmann::json> events) {
  for (nlohmann::json& event : events) {
    event.erase("seconds");
    event.erase("examples_per_second");
  }
  return events;
}

inline std::string repository_file(const std::string& name) {
  return (fs::path(MIRRORTRAIN_SOURCE_DIR) / name).string();
}

}  // namespace mirrortrain::testing
