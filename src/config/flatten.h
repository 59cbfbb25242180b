#pragma once

#include <string>
#include <utility>
#include <vector>

#include "config/value.h"

namespace mirrortrain::config {

/// Every scalar of a value with its path, in order: {"shapes[0].circle.radius", "64"}. Null is "null".
std::vector<std::pair<std::string, std::string>> flatten(const Value& value);

}  // namespace mirrortrain::config
