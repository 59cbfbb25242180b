#pragma once

#include <string>

namespace mirrortrain {

// The only ends of the program beside that of `main`. A thread that hangs cannot be joined, and what it still uses must
// not be freed, so no exception can leave the functions that found it: no destructor runs, and nothing is flushed.

/// The error has been reported.
[[noreturn]] void end_hung_process(int exit_code = 1);
/// Prints the error first.
[[noreturn]] void end_hung_process(const std::string& error);

}  // namespace mirrortrain
