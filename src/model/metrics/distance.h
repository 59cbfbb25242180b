#pragma once

#include <string_view>

#include "model/losses.h"

namespace mirrortrain::metrics {

/// Throws Error where the loss's labels are class numbers: they have no distance from an output.
void check_distance(std::string_view metric, const Loss& loss);

}  // namespace mirrortrain::metrics
