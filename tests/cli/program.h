#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/files.h"
#include "temporary_folder.h"

namespace mirrortrain::testing {

namespace fs = std::filesystem;

struct Outcome {
  int exit_code = 0;
  std::string out, err;
};

/// A text with `to` in place of the first `from`, which it has to contain.
std::string replaced(std::string text, const std::string& from, const std::string& to);

/// Runs a shell's script in `folder`, with the program as $MIRRORTRAIN.
Outcome run_script(const TemporaryFolder& folder, const std::string& script);

/// Runs the program in `folder` with a shell's arguments.
Outcome run_program(const TemporaryFolder& folder, const std::string& arguments);

/// A shell's test whether the process $pid is writing this file, which has no name yet or a temporary one. It looks
/// first whether SIGTERM is caught: before that, a file without a name only tries whether the folder can be written.
std::string is_writing(const std::string& file);

/// A shell's loop until the process $! has saved a checkpoint of its run, or has ended.
std::string until_checkpoint(const std::string& run);

/// A text as JSON.
nlohmann::json parsed(const std::string& text);

/// The lines of a metrics.jsonl.
std::vector<nlohmann::json> events_of(const fs::path& file);

/// The events without what no two runs share.
std::vector<nlohmann::json> timeless(std::vector<nlohmann::json> events);

std::string repository_file(const std::string& name);

}  // namespace mirrortrain::testing
