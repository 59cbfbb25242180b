#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace mirrortrain::keras {

using Json = nlohmann::json;

/// Parses a text of a file that Keras wrote. Throws Error, naming `what`, where it is no JSON, or nested deeper than
/// any model.
Json parse_json(std::string_view text, const std::string& what);

/// The value of an object's key; null where there is none, and for what is no object.
const Json& at(const Json& object, std::string_view key);
/// A key's text; "" where it has none.
std::string text_at(const Json& object, std::string_view key);

/// What Keras's serialization makes of an object: {"class_name": "Dense", "config": {...}, "module": "keras.layers"}.
struct Serialized {
  std::string class_name, module;
  const Json* config;  ///< null's where it has none
};
/// nullopt for what is none, such as a number.
std::optional<Serialized> as_object(const Json& value);

/// A list, or the items of what was a tuple or an array of numpy; null's for other values.
const Json& as_list(const Json& value);

/// Numbers and texts as they are, others as JSON, shortened: for messages.
std::string described(const Json& value);

}  // namespace mirrortrain::keras
