#include "keras/json.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"

namespace mirrortrain::keras {
namespace {

constexpr int kMostLevels = 200;  // what walks through it calls itself for each

const Json kNull;

}  // namespace

Json parse_json(std::string_view text, const std::string& what) {
  const auto refuse = [&] { throw Error(fmt::format("{}: is nested deeper than any model", what)); };
  try {
    return mirrortrain::parse_json<Json>(text, {.most_levels = kMostLevels, .deeper = refuse});
  } catch (const Json::exception& error) {
    throw Error(
        fmt::format("{}: expected JSON, as Keras writes it; it is damaged: {}", what, shortened(error.what(), 200)));
  }
}

const Json& at(const Json& object, std::string_view key) {
  if (!object.is_object()) return kNull;
  const auto found = object.find(std::string(key));
  return found == object.end() ? kNull : *found;
}

std::string text_at(const Json& object, std::string_view key) {
  const Json& value = at(object, key);
  return value.is_string() ? value.get<std::string>() : "";
}

std::optional<Serialized> as_object(const Json& value) {
  std::string name = text_at(value, "class_name");
  if (name.empty()) return std::nullopt;
  return Serialized{std::move(name), text_at(value, "module"), &at(value, "config")};
}

const Json& as_list(const Json& value) {
  if (value.is_array()) return value;
  const auto object = as_object(value);
  if (!object) return kNull;
  if (object->class_name == "__tuple__") return as_list(at(value, "items"));
  if (object->class_name == "__numpy__" || object->class_name == "__tensor__")
    return as_list(at(*object->config, "value"));
  return kNull;
}

std::string described(const Json& value) {
  if (const auto object = as_object(value)) return object->class_name;
  return shortened(json_text(value), 80);
}

}  // namespace mirrortrain::keras
