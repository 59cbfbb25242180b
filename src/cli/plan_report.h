#pragma once

#include <cstddef>
#include <string>

#include "bench/plan/plan.h"

namespace mirrortrain::cli {

/// The prediction as a table, preceded by its assumptions and followed by its conclusions. `width`: maximum number of
/// columns of the table, which omits the least important ones; 0: no limit.
std::string plan_text(const plan::Plan& plan, std::size_t width = 0);

/// The same figures as JSON, in seconds and bytes.
std::string plan_json(const plan::Plan& plan);

}  // namespace mirrortrain::cli
