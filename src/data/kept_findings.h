#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace mirrortrain::data {

// What was found out by reading many files, kept in the user's cache folder so that the same files need not be read
// again. `kind`: of finding; `identity`: changes where any of the files does.

/// nullopt where nothing is kept, or what is kept cannot be read.
std::optional<nlohmann::json> kept_finding(const std::string& kind, const std::string& identity);

/// Where it cannot be written, the next run looks again.
void keep_finding(const std::string& kind, const std::string& identity, const nlohmann::json& finding);

}  // namespace mirrortrain::data
