// A value where a section's mapping is wanted, and what was meant by it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "config/names.h"
#include "config/section_errors.h"

namespace mirrortrain::config::detail {
namespace {

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
  const bool fits =
      key != nullptr && key->schema().kind == Schema::Kind::kNumber && as_number(Value::scalar(inside, false));
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
    const Schema schema = key.schema();
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
    const Schema schema = key.schema();
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
  const Schema schema = first.schema();
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
  const bool takes_number = named != nullptr && named->schema().kind == Schema::Kind::kNumber;
  return takes_number ? write(named->name, "0.01") : "";
}

}  // namespace

void refuse_value(const Keys& keys, const Node& node) {
  const Value& value = node.value();
  if (const Key* const key = lone_list_of_texts(keys); key != nullptr && is_list_of_texts(value)) {
    node.errors().note_reported(node.path() + "." + key->name);
  }
  const std::string advice =
      value.is_sequence() ? "" : advice_on_value(node, keys.advice);  // a list's is on a whole map
  if (!advice.empty()) return node.wrong("a mapping", advice);
  const std::string hint = space_hint(value), meant = hint.empty() ? as_only_key(keys, node) : "";
  if (!meant.empty()) return node.wrong("a mapping", fmt::format("write {}", meant));
  std::string expected = fmt::format("a mapping with {}", fmt::join(texts_of(names_of(keys)), ", "));
  node.wrong(names_of(keys).empty() ? "an empty mapping" : expected, hint);
}

}  // namespace mirrortrain::config::detail
