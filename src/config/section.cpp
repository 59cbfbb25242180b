#include "config/section.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "config/names.h"
#include "config/section_errors.h"

namespace mirrortrain::config::detail {

const Key* find_key(const Keys& keys, std::string_view name) {
  const auto found = std::find_if(keys.keys.begin(), keys.keys.end(), [&](const Key& key) { return key.name == name; });
  return found == keys.keys.end() ? nullptr : &*found;
}

namespace {

void read_entry(const Keys& keys, const Node& node, const Value::Entry& entry, void* object) {
  const Key* key = find_key(keys, entry.key);
  if (key == nullptr) return unknown_key(keys, node, entry);
  if (const std::string list = without_brackets(keys, *key, node, entry); !list.empty()) {
    return node.error(entry.value.place(), entry.key, fmt::format("a list has brackets: {}: [{}]", key->name, list));
  }
  const Node value = node.key(entry, key->rules);
  if (entry.value.is_reported()) return node.errors().note_reported(value.path());
  value.remember_origin();
  key->read(value, object);
}

/// Whether a key holds more than null or an empty list.
bool holds_something(const Value& section, std::string_view name) {
  const Value::Entry* entry = section.is_mapping() ? section.find(name) : nullptr;
  if (entry == nullptr || entry->value.is_null()) return false;
  if (entry->value.is_mapping()) return !entry->value.entries().empty();
  return !entry->value.is_sequence() || !entry->value.items().empty();
}

bool is_required(const Key& key, const Value& section) {
  if (!key.rules.exemption) return key.rules.required;
  const auto& [unless, together] = *key.rules.exemption;
  return !holds_something(section, unless) ||
         std::any_of(together.begin(), together.end(),
                     [&](const std::string& other) { return holds_something(section, other); });
}

bool is_missing(const Key& key, const Value& section) {
  if (section.is_null() || section.find(key.name) == nullptr) return true;
  return key.rules.exemption && !holds_something(section, key.name);
}

/// "missing key 'radius'". Keys that another key may replace are reported as one error, by the first of them.
std::string missing_text(const Keys& keys, const Key& key, const Value& section) {
  const auto& exemption = key.rules.exemption;
  const bool has_other = exemption && exemption->together.empty() && !holds_something(section, exemption->unless);
  if (!has_other) return fmt::format("missing key '{}'", key.name);
  std::vector<std::string> names;
  for (const Key& one : keys.keys) {
    const bool is_alike = one.rules.exemption && one.rules.exemption->unless == exemption->unless;
    if (is_alike && is_missing(one, section)) names.push_back(fmt::format("'{}'", one.name));
  }
  if (names.empty() || names.front() != fmt::format("'{}'", key.name)) return "";
  const Key* const other = find_key(keys, exemption->unless);
  const bool is_switch = other != nullptr && other->schema().kind == Schema::Kind::kBoolean;
  return fmt::format("missing key{} {}; give {}, or '{}{}' in {} place", names.size() == 1 ? "" : "s",
                     fmt::join(names, " and "), names.size() == 1 ? "it" : "them", exemption->unless,
                     is_switch ? ": true" : "", names.size() == 1 ? "its" : "their");
}

void read_missing(const Keys& keys, const Key& key, const Node& node, void* object) {
  if (is_required(key, node.value())) {
    if (is_misspelled(key.name, keys, node.value())) return;
    if (const Value::Entry* given = node.value().is_mapping() ? node.value().find(key.name) : nullptr) {
      return node.error(given->value.place(), key.name, "a value is required here, found null");
    }
    const std::string missing = missing_text(keys, key, node.value());
    if (!missing.empty()) node.error(node.section_place(), "", missing);
  } else {
    key.absent(node.absent_key(key.name, key.rules), object);
  }
}

void refuse_excluded(const Key& key, const Node& node) {
  const std::string& other = key.rules.excludes;
  if (other.empty() || !holds_something(node.value(), key.name) || !holds_something(node.value(), other)) return;
  node.error(node.value().find(key.name)->value.place(), key.name,
             fmt::format("{} and {} exclude each other; leave one out", other, key.name));
}

void run_check(const Check& check, const Node& node, const void* object) {
  const std::string message = check.message(object);
  if (message.empty()) return;
  const Value::Entry* entry = node.value().is_mapping() ? node.value().find(check.key) : nullptr;
  if (entry != nullptr) {
    node.error(entry->value.place(), check.key, message);
  } else {
    node.error(node.section_place(), check.key, message);
  }
}

}  // namespace

std::vector<Name> names_of(const Keys& keys) {
  std::vector<Name> names;
  for (const Key& key : keys.keys) names.push_back({key.name, key.rules.aliases});
  return names;
}

void read_section(const Keys& keys, const Node& node, void* object) {
  const Value& value = node.value();
  if (!value.is_mapping() && !value.is_null()) return refuse_value(keys, node);
  static const std::vector<Value::Entry> none;
  const auto& entries = value.is_null() ? none : value.entries();
  const std::size_t errors_before = node.errors().count();
  for (const Value::Entry& entry : entries) {
    if (node.errors().full()) return;
    if (entry.key != node.tag() || node.tag().empty()) read_entry(keys, node, entry, object);
  }
  for (const Key& key : keys.keys) {
    if (is_missing(key, value)) read_missing(keys, key, node, object);
    refuse_excluded(key, node);
  }
  if (node.errors().count() != errors_before) return;  // checks run only on keys without errors
  for (const Check& check : keys.checks) run_check(check, node, object);
}

bool accepts_section(const Keys& keys, const Value& value) {
  return value.is_mapping() && std::any_of(value.entries().begin(), value.entries().end(),
                                           [&](const auto& entry) { return find_key(keys, entry.key) != nullptr; });
}

Value show_section(const Keys& keys, const void* object) {
  std::vector<Value::Entry> entries;
  for (const Key& key : keys.keys) entries.push_back({key.name, {}, key.show(object)});
  return Value::mapping(std::move(entries));
}

Schema section_schema(const Keys& keys, const Name& name, const void* standard) {
  Schema schema;
  schema.kind = Schema::Kind::kSection;
  schema.name = name.text;
  schema.aliases = name.aliases;
  schema.advice = keys.advice;
  schema.help = keys.help;
  schema.relations = keys.relations;
  for (const Key& key : keys.keys) {
    schema.keys.push_back({key.name, key.help, key.rules.required, key.schema(), key.show(standard),
                           key.rules.exemption, key.rules.excludes, key.rules.aliases});
  }
  return schema;
}

Rules& add_key(Keys& keys, std::string_view name, std::string_view help, const ErasedCodec& codec,
               std::ptrdiff_t offset) {
  return keys.keys.emplace_back(Key{std::string(name), std::string(help), &codec, offset, {}}).rules;
}

void add_check(Keys& keys, std::string_view key, std::function<std::string(const void*)> function) {
  keys.checks.push_back({std::string(key), 0, std::move(function)});
}

void include_keys(Keys& outer, const Keys& inner, std::ptrdiff_t offset) {
  for (const Key& key : inner.keys) outer.keys.emplace_back(key).offset += offset;
  outer.advice.insert(outer.advice.end(), inner.advice.begin(), inner.advice.end());
  outer.relations.insert(outer.relations.end(), inner.relations.begin(), inner.relations.end());
  for (const Check& check : inner.checks) outer.checks.emplace_back(check).offset += offset;
}

}  // namespace mirrortrain::config::detail
