#pragma once

#include <span>
#include <string>

#include "train/session/check_configuration.h"
#include "tune/search_space.h"

namespace mirrortrain::tune {

/// The space of a configuration's section `search`, which it has. Adds every error of it to `errors`: a
/// configuration is built with every listed value of each parameter, and with both ends of its range. `file` and
/// `overrides`: those that the configuration was read from, without errors.
SearchSpace check_search(const CheckedConfiguration& checked, const std::string& file,
                         std::span<const std::string> overrides, config::Errors& errors);

/// The overrides of a trial: the user's, those of a point, and none of the search itself.
std::vector<std::string> trial_overrides(std::span<const std::string> overrides, const SearchSpace& space,
                                         const Point& point);

}  // namespace mirrortrain::tune
