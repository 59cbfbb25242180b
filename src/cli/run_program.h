#pragma once

namespace mirrortrain::cli {

/// Runs `mirrortrain` with its arguments, the first of which is the program's name. Returns the exit code; errors are
/// reported on stderr. Calls must not overlap.
int run_program(int argc, const char* const* argv);

}  // namespace mirrortrain::cli
