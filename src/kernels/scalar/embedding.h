#pragma once

#include <cstdint>

#include "base/host_device.h"

namespace mirrortrain::scalar {

/// The row that a number selects in a table of `rows`, -1 for none.
MIRRORTRAIN_HOST_DEVICE inline std::int64_t table_row(float number, std::int64_t rows) {
  return number > -1.0f && number < static_cast<float>(rows) ? static_cast<std::int64_t>(number) : -1;
}

}  // namespace mirrortrain::scalar
