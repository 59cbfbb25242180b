#pragma once

#include <cstddef>
#include <string>

#include "train/session/run.h"

namespace mirrortrain {

/// What a worker on CPUs will take at most of its machine's memory, the program included, with a line for each kind;
/// "" for other runs. `run`: built, and not trained.
std::string worker_memory_text(const CheckedConfiguration& checked, const Run& run);
/// The sum of these, without what only the chief has; 0 for other runs.
std::size_t worker_memory(const Run& run);

}  // namespace mirrortrain
