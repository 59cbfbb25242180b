// The names of a choice's alternatives, and what a text in the place of one was meant to be.
#include <fmt/format.h>

#include <algorithm>

#include "config/choice.h"
#include "config/names.h"

namespace mirrortrain::config::detail {

const Alternative* find_named(const Choice& choice, std::string_view name) {
  const auto found = std::find_if(choice.alternatives.begin(), choice.alternatives.end(),
                                  [&](const Alternative& a) { return !name.empty() && a.name == name; });
  return found == choice.alternatives.end() ? nullptr : &*found;
}

std::vector<Name> names_of(const Choice& choice) {
  std::vector<Name> names;
  for (const Alternative& alternative : choice.alternatives) {
    if (!alternative.name.empty()) names.push_back({std::string(alternative.name), alternative.aliases});
  }
  return names;
}

std::string kind_of(const Choice& choice) { return choice.noun.empty() ? "name" : without_article(choice.noun); }

std::string words(const Choice& choice, const Node& node) { return in_words(choice_schema(choice, node.rules())); }

std::string name_meant(const Choice& choice, const Value& value) {
  const auto text = as_text(value);
  return text ? nearest_name(*text, names_of(choice)).value_or("") : "";
}

namespace {

/// The key that a single value in brackets is for: the only required one, or one that a number fills, such as
/// pool_size.
const Schema::Key* lone_key(const std::vector<Schema::Key>& keys) {
  const auto is_required = [](const Schema::Key& key) { return key.required; };
  const auto required = std::ranges::count_if(keys, is_required);
  if (required == 1) return &*std::ranges::find_if(keys, is_required);
  return required == 0 && !keys.empty() && keys.front().type.rules.scalar_fills ? &keys.front() : nullptr;
}

/// The required keys as "radius: ..., color: ..."; "KEY: VALUE, ..." if there are none.
std::string to_fill_in(const std::vector<Schema::Key>& keys) {
  std::string text;
  for (const Schema::Key& key : keys) {
    if (key.required) text += fmt::format("{}{}: ...", text.empty() ? "" : ", ", key.name);
  }
  return text.empty() ? "KEY: VALUE, ..." : text;
}

/// The name in a function call, "circle" for "circle(4)"; "" for other texts.
std::string_view called(std::string_view text) {
  const std::size_t open = text.find('(');
  return open == std::string_view::npos || !text.ends_with(')') ? "" : text.substr(0, open);
}

/// "write - circle: {radius: 4}" for `circle(4)`, a call as in other libraries; "" for other texts.
std::string as_item(const Choice& choice, std::string_view text) {
  const auto name = nearest_name(called(text), names_of(choice));
  if (called(text).empty() || !name) return "";
  const std::size_t open = text.find('(');
  const std::string_view inside = text.substr(open + 1, text.size() - open - 2);
  const bool is_tagged = !choice.tag.empty();
  if (inside.empty()) return fmt::format("write {}{}", is_tagged ? "" : "- ", *name);
  if (is_tagged) {
    return fmt::format("write {{{}: {}, KEY: VALUE, ...}}, with the names of its options", choice.tag, *name);
  }
  const std::vector<Schema::Key> keys = find_named(choice, *name)->schema({}).keys;
  const bool one_value = inside.find_first_of(",=:()") == std::string_view::npos;
  if (const Schema::Key* const key = one_value ? lone_key(keys) : nullptr) {
    return fmt::format("write - {}: {{{}: {}}}", *name, key->name, inside);
  }
  return fmt::format("write - {}: {{{}}}, with the names of its options", *name, to_fill_in(keys));
}

/// "a colon is missing after 'circle'" for `circle {radius: 4}`, whose key is "circle {radius"; "" for other texts.
std::string without_colon(const Choice& choice, std::string_view text) {
  const std::size_t end = text.find_first_of(" {");
  if (end == std::string_view::npos || text.find('{') == std::string_view::npos) return "";
  const auto name = nearest_name(text.substr(0, end), names_of(choice));
  return name ? fmt::format("a colon is missing; write - {}: {{...}}", *name) : "";
}

/// "write {format: gif, file: a.gif, speed: ...}" for `a.gif`, a file name instead of its description; "" for others.
std::string as_file(const Choice& choice, std::string_view text) {
  const std::size_t dot = text.rfind('.');
  const Alternative* const format = dot == text.npos ? nullptr : find_named(choice, text.substr(dot + 1));
  if (format == nullptr || choice.tag.empty()) return "";
  std::string options;
  for (const Schema::Key& key : format->schema({}).keys) {
    if (key.required) options += fmt::format(", {}: {}", key.name, options.empty() ? shortened(text) : "...");
  }
  return options.empty() ? "" : fmt::format("write {{{}: {}{}}}", choice.tag, format->name, options);
}

void add_names(const Schema& type, std::vector<Name>& names) {
  names.insert(names.end(), type.names.begin(), type.names.end());
  for (const Schema& part : type.parts) add_names(part, names);
}

/// "write - color: {color: red}" for `red`, a value of the key with the same name as its item; "" for
/// others.
std::string as_value(const Choice& choice, std::string_view name) {
  if (!choice.tag.empty()) return "";
  for (const Alternative& alternative : choice.alternatives) {
    for (const Schema::Key& key : alternative.schema({}).keys) {
      if (key.name != alternative.name) continue;
      std::vector<Name> values;
      add_names(key.type, values);
      const Name* const meant = named_otherwise(name, values);
      if (meant != nullptr) return fmt::format("; write - {0}: {{{0}: {1}}}", key.name, meant->text);
    }
  }
  return "";
}

/// "Circle" for "shapes.round.Circle(3)", a call with the path of its module.
std::string_view without_module(std::string_view call) {
  const std::string_view path = call.substr(0, call.find('('));
  return path.substr(path.rfind('.') + 1);
}

/// What was probably meant: another alternative's name, advice on this name, or a key's value.
std::string meant_by(const Choice& choice, const std::string& name, std::span<const Name> names) {
  const std::string_view bare = called(name).empty() ? std::string_view(name) : called(name);
  if (std::string advice = advice_on(without_module(bare), choice.advice); !advice.empty()) return advice;
  const std::string value = named_otherwise(bare, names) == nullptr ? as_value(choice, bare) : "";
  return value.empty() ? suggestion(name, names) : value;
}

}  // namespace

std::string as_plain_form(const Choice& choice, const Node& node) {
  const auto number = number_meant(node.value());
  for (const Alternative& alternative : choice.alternatives) {
    if (!alternative.name.empty() || !number || node.name().empty()) continue;
    for (const Schema::Key& key : alternative.schema({}).keys) {
      const bool is_wanted = key.required || key.exemption;
      const Schema& type = key.type.kind == Schema::Kind::kEither ? key.type.parts[0] : key.type;
      if (!is_wanted || type.kind != Schema::Kind::kNumber || !within(type.rules, *number)) continue;
      return fmt::format("write {}: {{{}: {}}}", node.name(), key.name, number_value(*number).text());
    }
  }
  return "";
}

std::string refusal(const Choice& choice, const Node& node, const std::string& name) {
  const std::vector<Name> names = names_of(choice);
  const std::string available = fmt::format("; available: {}", fmt::join(texts_of(names), ", "));
  for (const std::string& form : {as_item(choice, name), without_colon(choice, name), as_file(choice, name)}) {
    if (!form.empty()) return fmt::format("unknown {} '{}'; {}", kind_of(choice), shortened(name), form);
  }
  std::string hint = meant_by(choice, name, names);
  const Schema* const root = hint.empty() ? node.reading().root.get() : nullptr;
  if (root != nullptr) hint = item_elsewhere(name, *root);
  return fmt::format("unknown {} '{}'{}", kind_of(choice), shortened(name), hint.empty() ? available : hint);
}

}  // namespace mirrortrain::config::detail
