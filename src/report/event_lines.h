#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

namespace mirrortrain::report {

/// Calls `take` with every line of an events file, a JSON object. Returns the number of unreadable lines: broken ones,
/// and an unfinished last one. Reads the file in parts. Throws SystemError if it cannot be read.
std::int64_t for_each_event(const std::filesystem::path& file,
                            const std::function<void(const nlohmann::ordered_json& event)>& take);

// Members of an event, of any type.

/// A number; NaN for null. nullopt if it is absent or of another type.
std::optional<double> number_in(const nlohmann::ordered_json& object, const char* key);
/// 0 if there is none.
std::int64_t integer_in(const nlohmann::ordered_json& object, const char* key);
/// Empty where there is none.
std::string text_in(const nlohmann::ordered_json& object, const char* key);
/// An array or an object; empty if there is none.
const nlohmann::ordered_json& structure_in(const nlohmann::ordered_json& object, const char* key);

}  // namespace mirrortrain::report
