#pragma once

#include <map>
#include <span>
#include <string>

#include "config/errors.h"
#include "config/value.h"

namespace mirrortrain::config {

/// Applies `key.path=value` overrides to the tree, in order. A section that is missing is made; below a bare name
/// (`adam`,
/// `- flatten`) the name becomes the key of its options. Names of list items that were replaced go to `replaced`, by
/// path. What is wrong is added to `errors`, and that override left out.
void apply_overrides(std::span<const std::string> overrides, Value& root, std::map<std::string, std::string>& replaced,
                     Errors& errors);

}  // namespace mirrortrain::config
