#pragma once

#include <cstdint>
#include <functional>

namespace mirrortrain::testing {

/// Calls body(most blocks of a grid), where that can be chosen with 1, 3 and many, else once.
void in_each_geometry(const std::function<void(std::int64_t blocks)>& body);

}  // namespace mirrortrain::testing
