// Keys that a section does not have: misspelled, of another place or another program, or values that YAML reads as
// keys.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "config/names.h"
#include "config/section_errors.h"

namespace mirrortrain::config::detail {
namespace {

bool takes_list(const Schema& schema) {
  const bool has_parts = schema.kind == Schema::Kind::kChoice || schema.kind == Schema::Kind::kEither;
  return schema.kind == Schema::Kind::kList ||
         (has_parts && std::ranges::any_of(schema.parts, [](const Schema& part) { return takes_list(part); }));
}

bool takes_integer(const Schema& schema) {
  return schema.kind == Schema::Kind::kInteger ||
         (schema.kind == Schema::Kind::kEither && takes_integer(schema.parts[0]));
}

/// The values after a comma that follows a key's value in braces, which YAML reads as keys: {colors: red, blue}.
struct Remainder {
  const Key* key = nullptr;  ///< null: the entry is not such a value
  std::vector<std::string> values;
  bool is_first = false;
};

Remainder remainder_of(const Keys& keys, const Value::Entry& entry, const Value& section) {
  Remainder found;
  bool was_passed = false;
  for (const Value::Entry& other : section.entries()) {
    if (const Key* key = find_key(keys, other.key)) {
      if (was_passed) break;
      found = {key, {}, false};
      if (other.value.is_scalar()) found.values = {other.value.text()};
    } else if (other.value.is_null() && !found.values.empty()) {
      if (&other == &entry) was_passed = true, found.is_first = found.values.size() == 1;
      found.values.push_back(other.key);
    } else if (&other == &entry) {
      return {};
    } else if (was_passed) {
      break;
    } else {
      found = {};
    }
  }
  return was_passed && found.key != nullptr ? found : Remainder{};
}

/// The hint for text that was read as a key by mistake: a missing space after the colon, or a comma in a number or a
/// list.
std::string written_wrong(const Keys& keys, const Value::Entry& entry, const Value& section) {
  const Remainder rest = remainder_of(keys, entry, section);
  if (rest.key != nullptr) {
    const Schema type = rest.key->schema();
    const std::string whole = fmt::format("{}", fmt::join(rest.values, ","));
    const auto kind = takes_integer(type) ? NumberKind::kInteger : NumberKind::kAny;
    if (number_hint(Value::scalar(whole, false), kind).empty()) return "";
    if (kind == NumberKind::kInteger) {
      return fmt::format("; a number has no commas: {}: {}", rest.key->name, fmt::join(rest.values, ""));
    }
    return fmt::format("; a number has a decimal point, not a comma: {}: {}", rest.key->name,
                       fmt::join(rest.values, "."));
  }
  const std::size_t equals = entry.key.find('=');
  if (equals != std::string::npos && entry.value.is_null() && find_key(keys, entry.key.substr(0, equals)) != nullptr) {
    return fmt::format("; write '{}: {}', with a colon", entry.key.substr(0, equals),
                       shortened(entry.key.substr(equals + 1)));
  }
  const std::size_t colon = entry.key.find(':');
  if (colon == std::string::npos || colon == 0) return "";
  const std::string name = entry.key.substr(0, colon);
  std::string value = without_odd_characters(entry.key.substr(colon + 1));
  // training:{epochs: 3}
  if (entry.value.is_scalar() && find_key(keys, name) != nullptr) value += ": " + entry.value.text();
  if (!entry.value.is_null() && !entry.value.is_scalar()) return "";
  return fmt::format("; write '{}: {}', with a space after the colon", shortened(name), shortened(value));
}

bool takes_mapping(const Schema& schema) {
  return schema.kind == Schema::Kind::kSection || schema.kind == Schema::Kind::kAny || schema.by_name ||
         std::ranges::any_of(schema.parts, [](const Schema& part) { return takes_mapping(part); });
}

/// The key, or the one in its place that takes a mapping, where the value is one.
std::string form_meant(const Keys& keys, const std::string& meant, const Value& value) {
  const Key& key = *find_key(keys, meant);
  if (!value.is_mapping() || takes_mapping(key.schema())) return meant;
  const auto other = std::ranges::find_if(
      keys.keys, [&](const Key& one) { return one.rules.excludes == meant && takes_mapping(one.schema()); });
  return other == keys.keys.end() ? meant : other->name;
}

/// A key and the alternative of its choice that was written in its place, such as `shape` and `circle` where {circle:
/// ...} stands for {shape: {circle: ...}}; none for other names.
struct WrittenChoice {
  std::string key, alternative;
};

std::optional<WrittenChoice> choice_with(const Keys& keys, std::string_view name) {
  for (const Key& key : keys.keys) {
    const Schema type = key.schema();
    if (type.kind != Schema::Kind::kChoice || !type.tag.empty() || !key.rules.required) continue;
    std::vector<Name> names;
    for (const Schema& part : type.parts) names.push_back({part.name, part.aliases});
    const Name* const found = named_otherwise(name, names);
    if (found != nullptr) return WrittenChoice{key.name, found->text};
  }
  return std::nullopt;
}

/// The key that an unknown one was written for.
std::optional<std::string> key_meant(const Keys& keys, std::string_view name) {
  if (auto nearest = nearest_name(name, names_of(keys))) return nearest;
  const auto choice = choice_with(keys, name);
  return choice ? std::optional(choice->key) : std::nullopt;
}

/// "; did you mean 'radius'?", or where the key belongs, or other advice.
std::string hint_for(const Keys& keys, const Node& node, const Value::Entry& entry) {
  if (std::string wrong = written_wrong(keys, entry, node.value()); !wrong.empty()) return wrong;
  if (std::string own = advice_on(entry.key, keys.advice); !own.empty()) return own;
  const std::vector<Name> names = names_of(keys);
  const bool is_here = named_otherwise(entry.key, names) != nullptr;
  const std::string advice = is_here ? "" : node.reading().root.advice_on_key(entry.key);
  if (!advice.empty()) return advice;
  if (const auto meant = nearest_name(entry.key, names)) {
    return fmt::format("; did you mean '{}'?", form_meant(keys, *meant, entry.value));
  }
  if (const auto choice = choice_with(keys, entry.key)) {
    return fmt::format("; write {}: {{{}: ...}}", choice->key, choice->alternative);
  }
  if (const Schema* const root = node.reading().root.get()) {
    const auto path = key_elsewhere(entry.key, *root, node.path().empty());
    if (path && *path == entry.key)
      return fmt::format("; it is a key of the whole file, beside '{}'",
                         node.path().substr(0, node.path().find_first_of(".[")));
    if (path && !path->starts_with(node.path() + ".")) {  // of another form of this section
      return fmt::format("; did you mean '{}'?", *path);
    }
    if (std::string item = item_elsewhere(entry.key, *root); !item.empty()) return item;
  }
  return names.empty() ? "; no key belongs here" : fmt::format("; known: {}", fmt::join(texts_of(names), ", "));
}

}  // namespace

void unknown_key(const Keys& keys, const Node& node, const Value::Entry& entry) {
  const Remainder rest = remainder_of(keys, entry, node.value());
  if (rest.key != nullptr && takes_list(rest.key->schema())) return;  // reported at the list's key
  // What follows from the value of the key that was meant is not known either.
  if (const auto meant = key_meant(keys, entry.key)) node.errors().note_reported(node.path() + "." + *meant);
  node.error(entry.key_place, entry.key, "unknown key" + hint_for(keys, node, entry));
}

bool is_misspelled(const std::string& name, const Keys& keys, const Value& section) {
  if (!section.is_mapping()) return false;
  return std::ranges::any_of(section.entries(), [&](const Value::Entry& entry) {
    return find_key(keys, entry.key) == nullptr && key_meant(keys, entry.key) == name;
  });
}

std::string without_brackets(const Keys& keys, const Key& key, const Node& node, const Value::Entry& entry) {
  const auto& entries = node.value().entries();
  const auto next = std::ranges::find_if(entries, [&](const Value::Entry& one) { return &one == &entry; }) + 1;
  const Remainder rest = next == entries.end() ? Remainder{} : remainder_of(keys, *next, node.value());
  if (rest.key != &key || !takes_list(key.schema())) return "";
  std::vector<std::string> values = rest.values;
  for (auto at = next + 1; at != entries.end() && at->value.is_null() && !find_key(keys, at->key); ++at) {
    if (std::ranges::count(values, at->key) == 0) values.push_back(at->key);
  }
  std::string list = fmt::format("{}", fmt::join(values, ", "));
  if (list.starts_with('(') && list.ends_with(')')) list = list.substr(1, list.size() - 2);  // (3, 3)
  return shortened(list);
}

}  // namespace mirrortrain::config::detail
