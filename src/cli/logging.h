#pragma once

#include <string>

namespace CLI {
class App;
}

namespace mirrortrain::cli {

/// Messages go to stderr: on a terminal, errors in red, warnings in yellow, and lines wrapped to its width.
void set_up_logging();

/// Adds -q, -v and --color to a command and its subcommands.
void add_output_options(CLI::App& command);

/// Writes an error that ends the program to stderr.
void print_error(const std::string& text);

}  // namespace mirrortrain::cli
