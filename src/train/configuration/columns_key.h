#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>

#include "train/configuration/configuration.h"

namespace mirrortrain {

/// Columns listed in a warning.
inline constexpr std::size_t kNamedColumns = 3;

/// Where a table's columns are listed: "features" or "inputs".
inline const char* key_of_columns(const Configuration& values) {
  const auto* const table = data::table_in(values.data.train.value);
  return table != nullptr && !table->inputs.empty() ? "inputs" : "features";
}

/// What to write to leave columns out: "leave it out of 'features'", where it is listed.
inline std::string leaving_out(const Configuration& values, bool is_one) {
  const auto* const table = data::table_in(values.data.train.value);
  const char* const them = is_one ? "it" : "them";
  if (table == nullptr) return fmt::format("leave {} out of the data", them);
  const bool are_listed = !table->inputs.empty() || table->features.has_value();
  return are_listed ? fmt::format("leave {} out of '{}'", them, key_of_columns(values))
                    : "list the other columns in 'features'";
}

}  // namespace mirrortrain
