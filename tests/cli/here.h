#pragma once

#include <string>
#include <vector>

#include "cli/program.h"

namespace mirrortrain::testing {

/// Runs the program in this process and in `folder`: where there are hundreds, to start each would take longer than it
/// runs.
Outcome run_here(const TemporaryFolder& folder, std::vector<std::string> words);

}  // namespace mirrortrain::testing
