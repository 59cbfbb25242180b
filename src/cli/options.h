#pragma once

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace mirrortrain::cli {

// Options that several commands take. What they are read into must outlive `command`.

/// --set
void add_overrides(
    CLI::App& command, std::vector<std::string>& overrides,
    const std::string& help = "Override a value: key.path=value, with a YAML value; may be given several times");
/// CONFIG and --set
void add_configuration(CLI::App& command, std::string& file, std::vector<std::string>& overrides);
/// --json. A file that cannot be written is an error of the command line, reported before any work is done.
void add_json(CLI::App& command, std::optional<std::string>& file, const std::string& help);

}  // namespace mirrortrain::cli
