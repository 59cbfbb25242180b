#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace mirrortrain {

/// The JSON of a variable. Throws UsageError, beginning with its name, if it is invalid or an object has a duplicate
/// key, one of which a lenient parser would drop.
nlohmann::json strict_json(const std::string& text, const std::string& variable);

}  // namespace mirrortrain
