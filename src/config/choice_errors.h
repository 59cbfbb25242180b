#pragma once

#include <string>
#include <string_view>

#include "config/choice.h"

namespace mirrortrain::config::detail {

// What the files with the errors of reading a choice have in common.

/// Whether other programs use this key to name an alternative.
bool is_type_key(const Choice& choice, std::string_view key);

/// The error of a mapping from names where one value is wanted: "expected one shape, found one for each of a, b; ...";
/// "" for other mappings.
std::string one_for_each(const Choice& choice, const Node& node);

}  // namespace mirrortrain::config::detail
