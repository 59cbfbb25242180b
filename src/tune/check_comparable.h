#pragma once

#include <string>

#include "config/errors.h"
#include "train/configuration/configuration.h"
#include "tune/search_space.h"

namespace mirrortrain::tune {

/// Adds an error for each parameter whose values would make trials' figures incomparable, or that is not a trial's.
void check_comparable(const Configuration& values, const SearchSpace& space, config::Errors& errors);

/// Whether a key is another one, or in its section or list.
bool is_at_or_below(const std::string& key, const std::string& above);
/// Whether a value has the key of this path below it.
bool has_key(const config::Value& value, const std::string& path);

}  // namespace mirrortrain::tune
