#pragma once

#include <optional>
#include <string>
#include <utility>

#include "report/event.h"

namespace mirrortrain::report {

/// The worker that the others wait for, with their share of `seconds`, the steps' time; nothing if that is small, or if
/// they wait about as much for another.
std::optional<std::pair<std::string, double>> straggler_of(const WaitedForWorkers& waited_for, double seconds);

}  // namespace mirrortrain::report
