#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace mirrortrain::data {

// A cache, in the user's cache folder, of results of reading many files, so that the same files need not be read again.
// `kind`: of result; `identity`: changes if any of the files does.

/// The folder, which need not exist yet; empty if the user has none (HOME is not set).
std::filesystem::path findings_folder();

/// nullopt if nothing is cached, or if it cannot be read.
std::optional<nlohmann::json> kept_finding(const std::string& kind, const std::string& identity);

/// If it cannot be written, the next run computes it again.
void keep_finding(const std::string& kind, const std::string& identity, const nlohmann::json& finding);

}  // namespace mirrortrain::data
