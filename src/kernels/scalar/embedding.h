#pragma once

#include <cmath>
#include <cstdint>

#include "base/host_device.h"

namespace mirrortrain::scalar {

/// The row that a number selects in a table of `rows`, -1 for none.
MIRRORTRAIN_HOST_DEVICE inline std::int64_t table_row(float number, std::int64_t rows) {
  return number > -1.0f && number < static_cast<float>(rows) ? static_cast<std::int64_t>(number) : -1;
}

/// A table that may be a part of a larger one.
struct TablePart {
  std::int64_t rows, first, all;

  /// The row of the part that a number selects; -1: it is another part's, or none.
  MIRRORTRAIN_HOST_DEVICE std::int64_t row(float number) const {
    const std::int64_t of_all = table_row(number, all) - first;
    return of_all < rows ? of_all : -1;
  }
  /// What takes the place of a row of another part.
  MIRRORTRAIN_HOST_DEVICE float absent(float number) const { return table_row(number, all) < 0 ? NAN : 0.0f; }
};

}  // namespace mirrortrain::scalar
