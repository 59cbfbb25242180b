#pragma once

namespace mirrortrain::cli {

/// What `mirrortrain` does with its arguments, the program's name first. Returns the exit code; errors are reported on
/// stderr. One call after another.
int run_program(int argc, const char* const* argv);

}  // namespace mirrortrain::cli
