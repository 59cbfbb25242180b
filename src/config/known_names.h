#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mirrortrain::config {

/// "; did you mean 'b'?" as suggestion() of names.h, or else the names that there are: "; known: a, b". Of
/// many names the first ones are listed, and how many more there are.
std::string suggestion_or_known(std::string_view name, const std::vector<std::string>& names);

}  // namespace mirrortrain::config
