#pragma once

#include <cstddef>

#include "train/session/configuration.h"

namespace mirrortrain {

/// Columns listed in a warning.
inline constexpr std::size_t kNamedColumns = 3;

/// Where a table's columns are listed: "features" or "inputs".
inline const char* key_of_columns(const Configuration& values) {
  const auto* const table = data::table_in(values.data.train.value);
  return table != nullptr && !table->inputs.empty() ? "inputs" : "features";
}

}  // namespace mirrortrain
