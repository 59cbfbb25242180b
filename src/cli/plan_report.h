#pragma once

#include <cstddef>
#include <string>

#include "bench/plan/plan.h"

namespace mirrortrain::cli {

/// The prediction as a table, with what it assumes above and what follows from it below.
/// `width`: columns that there are for the table, which leaves out what matters least; 0: no limit.
std::string plan_text(const plan::Plan& plan, std::size_t width = 0);

/// The same figures as JSON, in seconds and bytes.
std::string plan_json(const plan::Plan& plan);

}  // namespace mirrortrain::cli
