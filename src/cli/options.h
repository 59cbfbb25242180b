#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/loading/load.h"

namespace CLI {
class App;
class Option;
class Validator;
}  // namespace CLI

namespace mirrortrain::cli {

/// Makes every option and argument of the program's commands reject an empty text, which an unset variable yields. Call
/// it when all are added. Options with an optional value, for which the parser does not distinguish words, are looked
/// up in `words`, the command line. Throws UsageError.
void refuse_empty_texts(CLI::App& program, const std::vector<std::string>& words);

// Checks of values, whose errors say what is expected.

/// A number from `low` to `high`.
CLI::Validator within(long low, long high);
CLI::Validator within(double low, double high);
/// One of these words; the nearest one is suggested for another.
CLI::Validator one_of(const std::vector<std::string>& words);

// Options of several commands. The variables that they set must outlive `command`.

/// --set
CLI::Option* add_overrides(
    CLI::App& command, std::vector<std::string>& overrides,
    const std::string& help = "Override a value: key.path=value, with a YAML value; may be given several times");
/// CONFIG and --set
void add_configuration(CLI::App& command, std::string& file, std::vector<std::string>& overrides);
/// --split, with the value of `split` as its default
CLI::Option* add_split(CLI::App& command, data::Split& split, const std::string& help);

/// An option for an output file, or "-" for stdout. A file that cannot be written is reported as an error in the
/// command line, before any work is done.
CLI::Option* add_output_file(CLI::App& command, const std::string& names, std::optional<std::string>& file,
                             const std::string& help);
/// --json
CLI::Option* add_json(CLI::App& command, std::optional<std::string>& file, const std::string& help);
/// Writes `json` and a line break to the file, or to stdout if it is "-". Throws Error.
void write_json(const std::string& file, const std::string& json);

}  // namespace mirrortrain::cli
