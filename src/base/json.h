#pragma once

#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace mirrortrain {

// Texts of JSON are read and written by these alone: the library's parser and writer are large templates, which every
// caller would compile anew. `Json` is nlohmann::json or nlohmann::ordered_json.

/// What the parser takes and a reader refuses: these are called while a text is read, and throw.
struct JsonRefusals {
  int most_levels = std::numeric_limits<int>::max();  ///< of brackets within brackets
  std::function<void()> deeper{};                     ///< called for a text with more
  /// Called for a key that its object has twice, of which the parser keeps the last.
  std::function<void(const std::string& key)> key_twice{};
};

/// The value of a text. Throws Json::exception where it is no JSON, and what `refusals` throw.
template <class Json>
Json parse_json(std::string_view text, const JsonRefusals& refusals = {});

/// The value of a text; `is_discarded()` where it is no JSON. Throws what `refusals` throw.
template <class Json>
Json parse_json_if_valid(std::string_view text, const JsonRefusals& refusals = {});

/// The text of a value: on one line, or on a line for each of its parts, `indent` spaces deeper at each level. Bytes
/// that are not UTF-8, which a file's name may have, become U+FFFD.
template <class Json>
std::string json_text(const Json& value, int indent = -1);

extern template nlohmann::json parse_json(std::string_view, const JsonRefusals&);
extern template nlohmann::json parse_json_if_valid(std::string_view, const JsonRefusals&);
extern template std::string json_text(const nlohmann::json&, int);
extern template nlohmann::ordered_json parse_json(std::string_view, const JsonRefusals&);
extern template nlohmann::ordered_json parse_json_if_valid(std::string_view, const JsonRefusals&);
extern template std::string json_text(const nlohmann::ordered_json&, int);

}  // namespace mirrortrain
