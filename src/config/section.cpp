#include "config/section.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "config/names.h"

namespace mirrortrain::config::detail {
namespace {

const Key* find_key(const Keys& keys, std::string_view name) {
  const auto found = std::find_if(keys.keys.begin(), keys.keys.end(), [&](const Key& key) { return key.name == name; });
  return found == keys.keys.end() ? nullptr : &*found;
}

/// The hint for `seed:1` and `seed=1`, which YAML reads as texts.
std::string space_hint(const Value& value) {
  const auto text = as_text(value);
  const std::size_t equals = text ? text->find_first_not_of(kNameCharacters) : std::string::npos;
  if (equals != std::string::npos && equals > 0 && (*text)[equals] == '=') {
    return fmt::format("write '{}: {}', with a colon", shortened(text->substr(0, equals)),
                       shortened(without_odd_characters(text->substr(equals + 1))));
  }
  const std::size_t colon = text ? text->find(':') : std::string::npos;
  if (colon == std::string::npos || colon == 0 || colon + 1 == text->size() || (*text)[colon + 1] == ' ') return "";
  return fmt::format("write '{}: {}', with a space after the colon", shortened(text->substr(0, colon)),
                     shortened(without_odd_characters(text->substr(colon + 1))));
}

/// "{radius: 4}" for `- radius: 4`, a list of keys with their values; "" for other values.
std::string as_one_mapping(const Keys& keys, const Node& node) {
  if (!node.value().is_sequence() || node.name().empty()) return "";
  std::vector<Value::Entry> entries;
  for (const Value& item : node.value().items()) {
    if (!item.is_mapping()) return "";
    for (const Value::Entry& entry : item.entries()) {
      if (find_key(keys, entry.key) == nullptr) return "";
      entries.push_back(entry);
    }
  }
  if (entries.empty()) return "";
  return fmt::format("{}: {}, keys without a '-'", node.name(), flow_text(Value::mapping(std::move(entries))));
}

/// The name and the number of "width(0.01)", if the name is a key that accepts a number; "" for other texts.
std::string as_called_key(const Keys& keys, const std::string& text) {
  const std::size_t open = text.find('(');
  if (open == std::string::npos || !text.ends_with(')')) return "";
  const Key* const key = find_key(keys, text.substr(0, open));
  const std::string inside = text.substr(open + 1, text.size() - open - 2);
  const bool fits = key != nullptr && key->schema(key->rules).kind == Schema::Kind::kNumber &&
                    as_number(Value::scalar(inside, false));
  return fits ? fmt::format("{}: {}", key->name, inside) : "";
}

/// The required keys, with the list's items if these are as many numbers: "height: 8, width: 8".
std::string filled_in(const Keys& keys, const Value& value) {
  std::vector<const Key*> required;
  for (const Key& key : keys.keys) {
    if (key.rules.required) required.push_back(&key);
  }
  const bool has_each =
      value.is_sequence() && value.items().size() == required.size() &&
      std::ranges::all_of(value.items(), [](const Value& item) { return as_number(item).has_value(); });
  std::string text;
  for (std::size_t i = 0; i < required.size(); ++i) {
    text += fmt::format("{}{}: {}", i == 0 ? "" : ", ", required[i]->name,
                        has_each ? value.items()[i].text() : std::string("..."));
  }
  return text;
}

bool is_list_of_texts(const Value& value) {
  return value.is_sequence() && !value.items().empty() &&
         std::ranges::all_of(value.items(), [](const Value& item) { return as_text(item).has_value(); });
}

/// The one key that is a list of texts; null if there are several or none.
const Key* lone_list_of_texts(const Keys& keys) {
  const Key* found = nullptr;
  for (const Key& key : keys.keys) {
    const Schema schema = key.schema(key.rules);
    if (schema.kind != Schema::Kind::kList || schema.parts[0].kind != Schema::Kind::kText) continue;
    if (found != nullptr) return nullptr;
    found = &key;
  }
  return found;
}

/// The only key that a single value can be meant for: the required one, else the first if it accepts the value, or the
/// one that it names, with a number: "{radius: 64}", "{type: circle}", "{width: 0.01}".
std::string as_only_key(const Keys& keys, const Node& node) {
  const Value& value = node.value();
  if (!value.is_scalar() && !value.is_sequence()) return "";
  if (const std::string joined = as_one_mapping(keys, node); !joined.empty()) return joined;
  const auto write = [&](const std::string& key, const std::string& text) {
    return fmt::format("{}{{{}: {}}}", node.name().empty() ? "" : fmt::format("{}: ", node.name()), key, text);
  };
  const auto write_value = [&](const std::string& key) {  // with quotes, where it needs them within braces
    constexpr std::size_t kMost = 200;
    const std::string entry = flow_text(Value::mapping({{key, {}, value}}), kMost);
    return (node.name().empty() ? "" : fmt::format("{}: ", node.name())) + entry;
  };
  const auto is_required = [](const Key& key) { return key.rules.required; };
  const auto required = std::ranges::count_if(keys.keys, is_required);
  if (required == 1) {
    const Key& key = *std::ranges::find_if(keys.keys, is_required);
    const Schema schema = key.schema(key.rules);
    const bool fits = value.is_scalar() || schema.kind == Schema::Kind::kList;
    const bool is_numeric = schema.kind == Schema::Kind::kNumber || schema.kind == Schema::Kind::kInteger;
    if (const auto number = number_meant(value); is_numeric && (!number || !within(schema.rules, *number))) {
      return fmt::format("{}, {}", write(key.name, "..."), in_words(schema));
    } else if (schema.kind == Schema::Kind::kNumber && !as_number(value)) {
      return write(key.name, number_value(*number).text());  // 1/255
    }
    return fits ? write_value(key.name) : "";
  }
  if (required > 1)
    return fmt::format("{}{{{}}}", node.name().empty() ? "" : fmt::format("{}: ", node.name()), filled_in(keys, value));
  if (const Key* const key = lone_list_of_texts(keys); key != nullptr && is_list_of_texts(value)) {
    return write_value(key->name);
  }
  if (keys.keys.empty() || !value.is_scalar()) return "";
  if (as_boolean(value).value_or(false)) return node.name().empty() ? "" : fmt::format("{}: {{}}", node.name());
  const Key& first = keys.keys.front();
  const Schema schema = first.schema(first.rules);
  const auto text = as_text(value);
  if (schema.kind == Schema::Kind::kNames && text) {
    const auto name = nearest_name(*text, schema.names);
    return name ? write(first.name, *name) : "";
  }
  constexpr std::array<std::string_view, 4> kSwitches = {"yes", "no", "on", "off"};
  const bool is_word = text && !text->empty() && text->find_first_not_of(kNameCharacters) == std::string::npos &&
                       std::ranges::count(kSwitches, plain(*text)) == 0;
  if (schema.kind == Schema::Kind::kText && is_word && !node.name().empty()) return write(first.name, *text);
  const bool fills = schema.kind == Schema::Kind::kList && first.rules.scalar_fills;
  const bool is_only_one = keys.keys.size() == 1 && schema.kind == Schema::Kind::kInteger;
  if ((fills || is_only_one) && as_number(value)) return write(first.name, value.text());
  if (const std::string entry = text ? as_called_key(keys, *text) : ""; !entry.empty()) {
    return fmt::format("{}: {{{}}}", node.name(), entry);
  }
  const Key* const named = text ? find_key(keys, *text) : nullptr;
  const bool takes_number = named != nullptr && named->schema(named->rules).kind == Schema::Kind::kNumber;
  return takes_number ? write(named->name, "0.01") : "";
}

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
    const Schema type = rest.key->schema(rest.key->rules);
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
  if (!value.is_mapping() || takes_mapping(key.schema(key.rules))) return meant;
  const auto other = std::ranges::find_if(
      keys.keys, [&](const Key& one) { return one.rules.excludes == meant && takes_mapping(one.schema(one.rules)); });
  return other == keys.keys.end() ? meant : other->name;
}

/// A key and the alternative of its choice that was written in its place, such as `shape` and `circle` where {circle:
/// ...} stands for {shape: {circle: ...}}; none for other names.
struct WrittenChoice {
  std::string key, alternative;
};
std::optional<WrittenChoice> choice_with(const Keys& keys, std::string_view name) {
  for (const Key& key : keys.keys) {
    const Schema type = key.schema(key.rules);
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
  const auto is_here = [&](const Name& name) { return plain(name.text) == plain(entry.key); };
  const std::string advice = std::ranges::any_of(names, is_here) ? "" : node.reading().root.advice_on_key(entry.key);
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

void unknown_key(const Keys& keys, const Node& node, const Value::Entry& entry) {
  const Remainder rest = remainder_of(keys, entry, node.value());
  if (rest.key != nullptr && takes_list(rest.key->schema(rest.key->rules))) return;  // reported at the list's key
  // What follows from the value of the key that was meant is not known either.
  if (const auto meant = key_meant(keys, entry.key)) node.errors().note_reported(node.path() + "." + *meant);
  node.error(entry.key_place, entry.key, "unknown key" + hint_for(keys, node, entry));
}

/// Whether an unknown key was meant to be this one, which is then not also reported as missing.
bool is_misspelled(const std::string& name, const Keys& keys, const Value& section) {
  if (!section.is_mapping()) return false;
  return std::ranges::any_of(section.entries(), [&](const Value::Entry& entry) {
    return find_key(keys, entry.key) == nullptr && key_meant(keys, entry.key) == name;
  });
}

/// {colors: red, blue}: the list without its brackets, as far as it goes; empty for other values.
std::string without_brackets(const Keys& keys, const Key& key, const Node& node, const Value::Entry& entry) {
  const auto& entries = node.value().entries();
  const auto next = std::ranges::find_if(entries, [&](const Value::Entry& one) { return &one == &entry; }) + 1;
  const Remainder rest = next == entries.end() ? Remainder{} : remainder_of(keys, *next, node.value());
  if (rest.key != &key || !takes_list(key.schema(key.rules))) return "";
  std::vector<std::string> values = rest.values;
  for (auto at = next + 1; at != entries.end() && at->value.is_null() && !find_key(keys, at->key); ++at) {
    if (std::ranges::count(values, at->key) == 0) values.push_back(at->key);
  }
  std::string list = fmt::format("{}", fmt::join(values, ", "));
  if (list.starts_with('(') && list.ends_with(')')) list = list.substr(1, list.size() - 2);  // (3, 3)
  return shortened(list);
}

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
  const bool is_switch = other != nullptr && other->schema(other->rules).kind == Schema::Kind::kBoolean;
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
  } else if (key.absent) {
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
  if (!value.is_mapping() && !value.is_null()) {
    if (const Key* const key = lone_list_of_texts(keys); key != nullptr && is_list_of_texts(value)) {
      node.errors().note_reported(node.path() + "." + key->name);
    }
    const std::string advice =
        value.is_sequence() ? "" : advice_on_value(node, keys.advice);  // a list's is on a whole map
    if (!advice.empty()) return node.wrong("a mapping", advice);
    const std::string hint = space_hint(value), meant = hint.empty() ? as_only_key(keys, node) : "";
    if (!meant.empty()) return node.wrong("a mapping", fmt::format("write {}", meant));
    std::string expected = fmt::format("a mapping with {}", fmt::join(texts_of(names_of(keys)), ", "));
    return node.wrong(names_of(keys).empty() ? "an empty mapping" : expected, hint);
  }
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
    schema.keys.push_back({key.name, key.help, key.rules.required, key.schema(key.rules), key.show(standard),
                           key.rules.exemption, key.rules.excludes, key.rules.aliases});
  }
  return schema;
}

void include_keys(Keys& outer, const Keys& inner, const std::function<void*(void*)>& inside) {
  // Reading needs a mutable object, showing and checking a const one: one function serves both.
  const auto within = [inside](const void* object) { return inside(const_cast<void*>(object)); };
  for (const Key& key : inner.keys) {
    Key copy = key;
    if (key.read) copy.read = [=](const Node& node, void* object) { key.read(node, inside(object)); };
    if (key.absent) copy.absent = [=](const Node& node, void* object) { key.absent(node, inside(object)); };
    if (key.show) copy.show = [=](const void* object) { return key.show(within(object)); };
    outer.keys.push_back(std::move(copy));
  }
  outer.advice.insert(outer.advice.end(), inner.advice.begin(), inner.advice.end());
  outer.relations.insert(outer.relations.end(), inner.relations.begin(), inner.relations.end());
  for (const Check& check : inner.checks) {
    outer.checks.push_back({check.key, [=](const void* object) { return check.message(within(object)); }});
  }
}

}  // namespace mirrortrain::config::detail
