#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

namespace mirrortrain::report {

/// Calls `take` with every line of a file of events, an object. Returns how many lines are none: broken ones, and a
/// last one that is unfinished. Reads a part of the file at a time. Throws SystemError where it cannot be read.
std::int64_t for_each_event(const std::filesystem::path& file,
                            const std::function<void(const nlohmann::ordered_json& event)>& take);

// Members of an event, whatever they hold.

/// A number; NaN for null. nullopt where it is absent or something else.
std::optional<double> number_in(const nlohmann::ordered_json& object, const char* key);
/// 0 where there is none.
std::int64_t integer_in(const nlohmann::ordered_json& object, const char* key);
/// Empty where there is none.
std::string text_in(const nlohmann::ordered_json& object, const char* key);
/// An array or an object; empty where there is none.
const nlohmann::ordered_json& structure_in(const nlohmann::ordered_json& object, const char* key);

}  // namespace mirrortrain::report
