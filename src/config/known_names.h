#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/names.h"

namespace mirrortrain::config {

/// "; did you mean 'b'?" as suggestion() of names.h, or else the names that there are: "; known: a, b". Of
/// many names the first ones are listed, and how many more there are. `declared`: whose aliases may be meant, too.
std::string suggestion_or_known(std::string_view name, const std::vector<std::string>& names,
                                std::span<const Name> declared = {});

}  // namespace mirrortrain::config
