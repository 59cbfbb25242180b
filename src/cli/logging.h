#pragma once

#include <string>

namespace CLI {
class App;
}

namespace mirrortrain::cli {

/// Messages go to stderr: errors in red, warnings in yellow where it is a terminal, no line wider than that.
void set_up_logging();

/// -q, -v and --color, for a command and those below it.
void add_output_options(CLI::App& command);

/// Writes an error that ends the program to stderr.
void print_error(const std::string& text);

}  // namespace mirrortrain::cli
