#pragma once

#include <map>
#include <memory>
#include <string>

#include "config/value.h"

namespace mirrortrain {

/// The values of `$name` in a block, by name.
using Parameters = std::map<std::string, config::Value>;

/// A copy of `value` in which each text `$name` is the parameter's value and each `${name}` within a text its text.
/// Every place in it gets `use`; a parameter's value keeps its own. An unknown parameter `of` this ("block 'a'") is
/// added to `errors`. The `layers` of a repeat are unchanged: they are filled when they are expanded.
config::Value fill_parameters(const config::Value& value, const Parameters& parameters, const std::string& of,
                              const std::shared_ptr<const std::string>& use, const std::string& path,
                              config::Errors& errors);

}  // namespace mirrortrain
