#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace mirrortrain {

// Texts of JSON are read and written by these alone: the library's parser and writer are large templates, which every
// caller would compile anew. `Json` is nlohmann::json or nlohmann::ordered_json.

/// Is called for each key, value and end while a text is read; see nlohmann::json::parser_callback_t.
template <class Json>
using JsonWatch = typename Json::parser_callback_t;

/// The value of a text. Throws Json::exception where it is no JSON.
template <class Json>
Json parse_json(std::string_view text, const JsonWatch<Json>& watch = nullptr);

/// The value of a text; `is_discarded()` where it is no JSON.
template <class Json>
Json parse_json_if_valid(std::string_view text, const JsonWatch<Json>& watch = nullptr);

/// The text of a value: on one line, or on a line for each of its parts, `indent` spaces deeper at each level. Bytes
/// that are not UTF-8, which a file's name may have, become U+FFFD.
template <class Json>
std::string json_text(const Json& value, int indent = -1);

extern template nlohmann::json parse_json(std::string_view, const JsonWatch<nlohmann::json>&);
extern template nlohmann::json parse_json_if_valid(std::string_view, const JsonWatch<nlohmann::json>&);
extern template std::string json_text(const nlohmann::json&, int);
extern template nlohmann::ordered_json parse_json(std::string_view, const JsonWatch<nlohmann::ordered_json>&);
extern template nlohmann::ordered_json parse_json_if_valid(std::string_view, const JsonWatch<nlohmann::ordered_json>&);
extern template std::string json_text(const nlohmann::ordered_json&, int);

}  // namespace mirrortrain
