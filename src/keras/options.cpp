#include "keras/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ranges>
#include <string>

#include "base/utf8.h"
#include "config/names.h"
#include "config/scalar.h"

namespace mirrortrain::keras {
namespace {

using config::Schema;
using config::Value;

/// Options of Keras that change nothing of what is computed, whatever their value, or that are the whole run's here.
constexpr std::array kSilent = {
    "dtype",  "seed",     "autocast",        "unroll",       "use_cudnn",         "implementation",
    "sparse", "optional", "flash_attention", "input_length", "batch_input_shape", "batch_shape"};

bool says_nothing(const Json& value) {
  return value.is_null() || value == Json(false) || value == Json("") || (value.is_structured() && value.empty());
}

std::string_view kind_in_words(Schema::Kind kind) {
  switch (kind) {
    case Schema::Kind::kBoolean: return "true or false";
    case Schema::Kind::kInteger: return "a whole number";
    case Schema::Kind::kNumber: return "a number";
    default: return "a text";
  }
}

Value refused(const Json& value, const OptionPlace& place, std::string_view expected) {
  place.problems.add(place.where, fmt::format("expected {}, found {}", expected, described(value)));
  return Value();
}

/// The name of a function or of an object: "relu" for {"class_name": "function", "config": "relu"}.
std::string name_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  const auto object = as_object(value);
  if (!object) return "";
  if (object->class_name == "__lambda__") return "a lambda of Python";
  return object->class_name == "function" && object->config->is_string() ? object->config->get<std::string>()
                                                                         : object->class_name;
}

/// An option of an object, as "negative_slope: 0.1", that a name alone would lose; "" where there is none.
std::string lost_option(const Json& value) {
  const auto object = as_object(value);
  if (!object || !object->config->is_object()) return "";
  for (const auto& [name, option] : object->config->items()) {
    const bool is_usual = name == "name" || name == "trainable" || name == "dtype" ||
                          (name == "axis" && option == Json(-1)) ||
                          (object->class_name == "ReLU" && option.is_number() && option == Json(0));
    if (!is_usual && !says_nothing(option)) return fmt::format("{}: {}", shortened(name), described(option));
  }
  return "";
}

Value named(const Json& value, const Schema& schema, const OptionPlace& place) {
  const std::string name = name_of(value);
  if (name.empty()) return refused(value, place, in_words(schema));
  if (const std::string lost = lost_option(value); !lost.empty()) {
    place.problems.add(place.where, fmt::format("{} with {}: here it has a name alone; build the model with the "
                                                "activation as a layer of its own, or a function",
                                                shortened(name), lost));
    return Value();
  }
  if (const config::Name* const known = config::named_otherwise(name, schema.names)) {
    return config::text_value(known->text);
  }
  const std::string advice = config::advice_on(name, schema.advice);
  place.problems.add(
      place.where,
      fmt::format(
          "'{}' does not exist here{}", shortened(name),
          advice.empty() ? fmt::format("; known: {}", fmt::join(config::texts_of(schema.names), ", ")) : advice));
  return Value();
}

/// {"class_name": "L2", "config": {"l2": 0.01}} for a section with the key `l2`: the options are the section's, unless
/// the class is itself one of its keys.
Value as_section(const Json& value, const Schema& schema, const OptionPlace& place) {
  const auto object = as_object(value);
  if (!object) {
    if (!value.is_object()) return refused(value, place, in_words(schema));
    return Value::mapping(converted_options(value, schema, place));
  }
  std::vector<config::Name> names;
  for (const Schema::Key& key : schema.keys) names.push_back({key.name, key.aliases});
  const config::Name* const own = config::named_otherwise(object->class_name, names);
  const auto key =
      std::ranges::find_if(schema.keys, [&](const auto& one) { return own != nullptr && one.name == own->text; });
  const bool has_options =
      object->config->is_object() && key != schema.keys.end() && !object->config->contains(key->name);
  if (!has_options) {
    if (!schema.parts.empty() || schema.keys.empty()) return refused(value, place, in_words(schema));
    return Value::mapping(converted_options(*object->config, schema, place));
  }
  return Value::mapping({{key->name, {}, converted(value.at("config"), key->type, place.inside(key->name))}});
}

Value chosen(const Json& value, const Schema& choice, const OptionPlace& place) {
  const std::string name = name_of(value);
  const Schema* const type = name.empty() ? nullptr : type_named(choice, name);
  if (type != nullptr) {
    const auto object = as_object(value);
    std::vector<Value::Entry> options;
    if (object && object->config->is_object()) options = converted_options(*object->config, *type, place);
    if (options.empty()) return config::text_value(type->name);
    if (choice.tag.empty()) return Value::mapping({{type->name, {}, Value::mapping(std::move(options))}});
    options.insert(options.begin(), {choice.tag, {}, config::text_value(type->name)});
    return Value::mapping(std::move(options));
  }
  const auto takes = [&](const Schema& part) {
    if (!part.name.empty()) return false;
    switch (part.kind) {
      case Schema::Kind::kNumber: return value.is_number();
      case Schema::Kind::kInteger: return value.is_number_integer();
      case Schema::Kind::kBoolean: return value.is_boolean();
      case Schema::Kind::kText: return value.is_string();
      case Schema::Kind::kList: return !as_list(value).is_null();
      default: return false;
    }
  };
  const auto plain = std::ranges::find_if(choice.parts, takes);
  if (plain != choice.parts.end()) return converted(value, *plain, place);
  if (name.empty()) return refused(value, place, in_words(choice));
  place.problems.add(
      place.where, fmt::format("'{}' does not exist here{}", shortened(name), config::advice_on(name, choice.advice)));
  return Value();
}

}  // namespace

OptionPlace OptionPlace::inside(std::string_view option) const {
  return {problems, fmt::format("{}: {}", where, option)};
}

config::Value plain_value(const Json& value) {
  if (value.is_boolean()) return Value::scalar(value.get<bool>() ? "true" : "false", false);
  if (value.is_number_unsigned()) return Value::scalar(std::to_string(value.get<std::uint64_t>()), false);
  if (value.is_number_integer()) return Value::scalar(std::to_string(value.get<std::int64_t>()), false);
  if (value.is_number()) {
    const auto number = value.get<double>();
    const auto single = static_cast<float>(number);
    return static_cast<double>(single) == number ? config::number_value(single) : config::number_value(number);
  }
  if (value.is_string()) return config::text_value(value.get<std::string>());
  const Json& list = as_list(value);
  if (list.is_null()) return Value();
  std::vector<Value> items;
  for (const Json& item : list) items.push_back(plain_value(item));
  return Value::sequence(std::move(items));
}

const Schema* type_named(const Schema& choice, std::string_view name) {
  std::vector<config::Name> names;
  for (const Schema& part : choice.parts) {
    if (!part.name.empty()) names.push_back({part.name, part.aliases});
  }
  const config::Name* known = config::named_otherwise(name, names);
  constexpr std::string_view kInitializer = "Initializer";  // behind the names of some, before Keras 3.7
  if (known == nullptr && name.ends_with(kInitializer)) {
    known = config::named_otherwise(name.substr(0, name.size() - kInitializer.size()), names);
  }
  if (known == nullptr) return nullptr;
  return &*std::ranges::find(choice.parts, known->text, &Schema::name);
}

config::Value converted(const Json& value, const Schema& schema, const OptionPlace& place) {
  if (value.is_null()) return Value();
  switch (schema.kind) {
    case Schema::Kind::kEither: return converted(value, schema.parts[0], place);
    case Schema::Kind::kNames: return named(value, schema, place);
    case Schema::Kind::kSection: return as_section(value, schema, place);
    case Schema::Kind::kChoice: return chosen(value, schema, place);
    case Schema::Kind::kBoolean:
      return value.is_boolean() ? plain_value(value) : refused(value, place, "true or false");
    case Schema::Kind::kInteger:
      if (value.is_number_float() && value.get<double>() == std::floor(value.get<double>()) &&
          std::abs(value.get<double>()) < 1e15) {
        return Value::scalar(std::to_string(static_cast<std::int64_t>(value.get<double>())), false);
      }
      return value.is_number_integer() ? plain_value(value) : refused(value, place, kind_in_words(schema.kind));
    case Schema::Kind::kNumber:
      return value.is_number() ? plain_value(value) : refused(value, place, kind_in_words(schema.kind));
    case Schema::Kind::kText:
    case Schema::Kind::kPath: return value.is_string() ? plain_value(value) : refused(value, place, "a text");
    case Schema::Kind::kList: {
      const Json& list = as_list(value);
      if (list.is_null()) {  // one number for all
        if (value.is_number() && schema.rules.scalar_fills) return plain_value(value);
        return refused(value, place, in_words(schema));
      }
      std::vector<Value> items;
      for (const Json& item : list) items.push_back(converted(item, schema.parts[0], place));
      return Value::sequence(std::move(items));
    }
    default: return plain_value(value);
  }
}

std::vector<Value::Entry> converted_options(const Json& options, const Schema& section, const OptionPlace& place,
                                            const std::vector<std::string_view>& taken) {
  std::vector<Value::Entry> entries;
  if (!options.is_object()) return entries;
  std::vector<config::Name> names;
  for (const Schema::Key& key : section.keys) names.push_back({key.name, key.aliases});
  for (const auto& [name, value] : options.items()) {
    const auto is_name = [&name = name](std::string_view other) { return other == name; };
    if (name == "name" || std::ranges::any_of(taken, is_name) || std::ranges::any_of(kSilent, is_name)) continue;
    if (name == "data_format") {
      if (value.is_null() || value == Json("channels_last")) continue;
      place.problems.add(place.where, fmt::format("data_format: {}: pictures have their channels last here; build the "
                                                  "model so, and save it again",
                                                  described(value)));
      continue;
    }
    const config::Name* const known = config::named_otherwise(name, names);
    if (known == nullptr) {
      if (says_nothing(value)) continue;
      place.problems.add(place.where, fmt::format("{}: {}: nothing here does this{}", shortened(name), described(value),
                                                  config::advice_on(name, section.advice)));
      continue;
    }
    const auto key = std::ranges::find(section.keys, known->text, &Schema::Key::name);
    if (std::ranges::any_of(entries, [&](const auto& entry) { return entry.key == key->name; })) continue;
    if (value.is_null() && key->type.kind != Schema::Kind::kEither) continue;  // Keras's way to say the default
    const std::size_t before = place.problems.count();
    Value here = converted(value, key->type, place.inside(name));
    if (place.problems.count() == before) entries.push_back({key->name, {}, std::move(here)});
  }
  return entries;
}

void report(const config::Errors& errors, const OptionPlace& place) {
  if (errors.empty()) return;
  const std::string text = errors.text();
  for (const auto line : text | std::views::split('\n')) {
    const std::string one(line.begin(), line.end());
    // The last line counts them.
    const bool is_count = one.find_first_not_of("0123456789") != one.npos && one.find(" error") != one.npos &&
                          one.find_first_not_of("0123456789") == one.find(" error");
    if (!one.empty() && !is_count) place.problems.add(place.where, one);
  }
}

}  // namespace mirrortrain::keras
