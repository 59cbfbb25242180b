#include "keras/writing/to_json.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/scalar.h"
#include "config/without_defaults.h"
#include "keras/class_names.h"

namespace mirrortrain::keras {
namespace {

using config::Schema;
using config::Value;

/// A scalar, a list or a mapping as it is.
Json plain_json(const Value& value) {
  if (value.is_null()) return nullptr;
  if (value.is_sequence()) {
    Json list = Json::array();
    for (const Value& item : value.items()) list.push_back(plain_json(item));
    return list;
  }
  if (value.is_mapping()) {
    Json object = Json::object();
    for (const Value::Entry& entry : value.entries()) object[entry.key] = plain_json(entry.value);
    return object;
  }
  if (const auto boolean = config::as_boolean(value)) return *boolean;
  if (const auto integer = config::as_integer(value)) return *integer;
  if (const auto number = config::as_number(value)) return *number;
  return value.text();
}

/// What a choice is of, in Keras's modules.
std::string module_of(const Schema& choice) {
  if (choice.noun == "an initializer") return "keras.initializers";
  if (choice.noun == "a constraint") return "keras.constraints";
  if (choice.noun == "a schedule") return "keras.optimizers.schedules";
  return "keras.layers";
}

Json regularizer_json(const Value& value, const Schema& section, const std::string& where, Problems& problems) {
  const Value::Entry* const angles = value.find("orthogonal_regularizer");
  const auto factor = [&](const char* name) {
    const Value::Entry* const entry = value.find(name);
    return entry == nullptr ? 0.0 : config::as_number(entry->value).value_or(0);
  };
  if (angles == nullptr || angles->value.is_null()) {
    return object_json("keras.regularizers", "L1L2", {{"l1", factor("l1")}, {"l2", factor("l2")}});
  }
  if (factor("l1") != 0 || factor("l2") != 0) {
    problems.add(where, "has l1 or l2 beside an orthogonal_regularizer, and Keras takes one of them");
  }
  const auto key = std::ranges::find(section.keys, "orthogonal_regularizer", &Schema::Key::name);
  const Schema& inner = key->type.kind == Schema::Kind::kEither ? key->type.parts[0] : key->type;
  return object_json("keras.regularizers", "OrthogonalRegularizer",
                     options_json(angles->value, inner, where, problems));
}

Json choice_json(const Value& value, const Schema& choice, const std::string& where, Problems& problems) {
  std::string name;
  Value options = Value::mapping({});
  if (value.is_mapping() && !choice.tag.empty() && value.find(choice.tag) != nullptr) {
    name = value.find(choice.tag)->value.text();
    options = value;
  } else if (value.is_mapping() && choice.tag.empty() && value.entries().size() == 1) {
    name = value.entries().front().key;
    options = value.entries().front().value;
  } else if (value.is_scalar()) {
    name = value.text();
  }
  const auto type =
      std::ranges::find_if(choice.parts, [&](const Schema& part) { return !part.name.empty() && part.name == name; });
  if (type == choice.parts.end()) return plain_json(value);  // a number, or a list of them
  const std::string class_name = class_named(name);
  if (class_name.empty()) {
    problems.add(where, fmt::format("{} does not exist in Keras", name));
    return nullptr;
  }
  return object_json(
      module_of(choice), class_name,
      options_json(options, *type, where, problems, {choice.tag.empty() ? "inputs" : choice.tag, "inputs"}));
}

}  // namespace

Json object_json(std::string_view module, std::string_view class_name, Json config) {
  return Json{
      {"module", module}, {"class_name", class_name}, {"config", std::move(config)}, {"registered_name", nullptr}};
}

Json to_json(const Value& value, const Schema& schema, const std::string& where, Problems& problems) {
  if (value.is_null()) return nullptr;
  switch (schema.kind) {
    case Schema::Kind::kEither: return to_json(value, schema.parts[0], where, problems);
    case Schema::Kind::kChoice: return choice_json(value, schema, where, problems);
    case Schema::Kind::kNames:
      if (value.text() == "gelu_tanh" || value.text() == "sparsemax") {
        problems.add(where, fmt::format("{} is not what Keras computes by any name", value.text()));
      }
      return value.text();
    case Schema::Kind::kSection: {
      const bool is_regularizer =
          std::ranges::any_of(schema.keys, [](const auto& key) { return key.name == "orthogonal_regularizer"; });
      return is_regularizer ? regularizer_json(value, schema, where, problems)
                            : options_json(value, schema, where, problems);
    }
    default: return plain_json(value);
  }
}

Json options_json(const Value& options, const Schema& section, const std::string& where, Problems& problems,
                  const std::vector<std::string_view>& taken) {
  Json json = Json::object();
  if (!options.is_mapping()) return json;
  for (const Value::Entry& entry : options.entries()) {
    if (std::ranges::any_of(taken, [&](std::string_view name) { return name == entry.key; })) continue;
    const auto key = std::ranges::find(section.keys, entry.key, &Schema::Key::name);
    if (key == section.keys.end() || (!key->required && config::same(entry.value, key->standard))) continue;
    json[entry.key] = to_json(entry.value, key->type, fmt::format("{}: {}", where, entry.key), problems);
  }
  return json;
}

}  // namespace mirrortrain::keras
