#include "config/choice.h"

#include <fmt/format.h>

#include <algorithm>

namespace mirrortrain::config::detail {
namespace {

bool takes(const Choice& choice, Schema::Kind kind) {
  return std::ranges::any_of(choice.alternatives, [&](const Alternative& alternative) {
    return alternative.name.empty() && alternative.schema({}).kind == kind;
  });
}

bool takes_list(const Choice& choice) { return takes(choice, Schema::Kind::kList); }
bool takes_number(const Choice& choice) { return takes(choice, Schema::Kind::kNumber); }

std::string list_hint(const Choice& choice, const Node& node) {
  for (const Alternative& alternative : choice.alternatives) {
    if (std::string hint = alternative.list_hint(node); !hint.empty()) return hint;
  }
  return "";
}

/// "write [red]", or other advice on how the value is written here; "" if there is none.
std::string other_form(const Choice& choice, const Node& node) {
  if (std::string hint = list_hint(choice, node); !hint.empty()) return hint;
  const std::string advice = advice_on_value(node);
  return advice.empty() ? as_plain_form(choice, node) : advice;
}

/// Where a list is also accepted, only a known name (`all`) is read as a name: another text is a list item without its
/// brackets.
const Alternative* find_plain(const Choice& choice, const Value& value) {
  const auto text = as_text(value);
  for (const Alternative& alternative : choice.alternatives) {
    if (!alternative.name.empty() || !alternative.accepts(value)) continue;
    if (!text || !takes_list(choice)) return &alternative;
    const Schema schema = alternative.schema({});
    if (schema.kind != Schema::Kind::kNames || std::ranges::count(schema.names, *text, &Name::text) > 0) {
      return &alternative;
    }
  }
  return nullptr;
}

// `--set shapes[0]=circle` in place of another shape.
bool keeps_name(const Choice& choice, const Node& node, std::string_view name) {
  if (!choice.set_keeps_name) return true;
  const auto old = node.reading().replaced.find(node.path());
  if (old == node.reading().replaced.end() || old->second == name) return true;
  node.error(fmt::format("the {}'s type cannot be set; it is '{}'", kind_of(choice), old->second));
  return false;
}

void read_bare(const Choice& choice, const Alternative& alternative, const Node& node, void* variant) {
  static const Value null;
  if (!keeps_name(choice, node, alternative.name)) return;
  node.remember_origin();
  const std::string_view name = choice.tag.empty() ? alternative.name : "";
  const Node options = node.options(null, node.section_place(), name, true);
  options.remember_origin();
  if (!choice.tag.empty()) node.reading().origins[joined(node.shown_path(), choice.tag)] = node.value().place();
  choice.read(alternative, options, variant);
}

/// Options at the level of their item's name instead of indented below it, "- circle:" and "radius: 4" in one column,
/// which refuse_sibling reports.
Value options_beside(const Choice& choice, const Value& mapping, const Value::Entry& chosen) {
  Value options = Value::mapping({}, chosen.value.place());
  const Schema schema = find_named(choice, chosen.key)->schema({});
  for (const Value::Entry& entry : mapping.entries()) {
    const bool is_option = std::ranges::any_of(schema.keys, [&](const auto& key) { return key.name == entry.key; });
    if (&entry != &chosen && is_option) options.entries().push_back(entry);
  }
  return options;
}

// Options together with entries that `--set` added next to the name: {circle: {...}, radius: 0.1}.
Value with_siblings(const Choice& choice, const Value& mapping, const Value::Entry& chosen) {
  Value options = chosen.value.is_mapping() ? chosen.value : Value::mapping({}, chosen.value.place());
  for (const Value::Entry& entry : mapping.entries()) {
    if (&entry == &chosen || entry.key == choice.tag) continue;
    if (Value::Entry* old = options.find(entry.key)) {
      *old = entry;
    } else {
      options.entries().push_back(entry);
    }
  }
  return options;
}

// {circle: {radius: 10}}
void read_named(const Choice& choice, const Value::Entry& chosen, const Node& node, void* variant) {
  const Alternative& alternative = *find_named(choice, chosen.key);
  if (!keeps_name(choice, node, chosen.key)) return;
  node.remember_origin();
  const auto& entries = node.value().entries();
  if (choice.tag.empty()) {
    for (const Value::Entry& entry : entries) {
      if (&entry != &chosen) refuse_sibling(choice, node, chosen.key, entry);
    }
    const Value beside = chosen.value.is_null() ? options_beside(choice, node.value(), chosen) : Value::null();
    const bool has_beside = beside.is_mapping() && !beside.entries().empty();
    const Node options = node.options(has_beside ? beside : chosen.value, chosen.key_place, chosen.key, true);
    options.remember_origin();
    return choice.read(alternative, options, variant);
  }
  bool refused = false;
  for (const Value::Entry& entry : entries) {
    if (&entry == &chosen || entry.key_place.from_set()) continue;
    refuse_sibling(choice, node, chosen.key, entry);
    refused = true;
  }
  node.reading().origins[joined(node.shown_path(), choice.tag)] = chosen.key_place;
  if (entries.size() == 1 || refused)
    return choice.read(alternative, node.options(chosen.value, chosen.key_place, chosen.key, false), variant);
  const Value options = with_siblings(choice, node.value(), chosen);
  choice.read(alternative, node.options(options, chosen.key_place, "", false), variant);
}

// {type: circle, radius: 0.9}
void read_tagged(const Choice& choice, const Value::Entry& tag, const Node& node, void* variant) {
  const Node tag_node = node.key(tag, node.rules());
  const auto name = as_text(tag.value);
  if (!name) return tag_node.wrong(fmt::format("one of {}", fmt::join(texts_of(names_of(choice)), ", ")));
  const Alternative* alternative = find_named(choice, *name);
  if (alternative == nullptr) {
    tag_node.error(refusal(choice, node, *name));
    refuse_unknown_keys(choice, node);
    return;
  }
  node.remember_origin();
  tag_node.remember_origin();
  if (tag.value.place().from_set()) {
    for (const Value::Entry& entry : node.value().entries()) {
      if (!find_named(choice, entry.key) || !(entry.value.is_null() || entry.value.is_mapping())) continue;
      const Value options = with_siblings(choice, node.value(), entry);
      return choice.read(*alternative, node.options(options, node.section_place(), "", false), variant);
    }
  }
  choice.read(*alternative, node.options(node.value(), node.section_place(), "", false).without(choice.tag), variant);
}

void read_mapping(const Choice& choice, const Node& node, void* variant) {
  const Value& value = node.value();
  if (const Value::Entry* tag = choice.tag.empty() ? nullptr : value.find(choice.tag)) {
    return read_tagged(choice, *tag, node, variant);
  }
  for (const Value::Entry& entry : value.entries()) {
    if (!find_named(choice, entry.key)) continue;
    // `--set` below an unknown bare name adds its own name next to it.
    const Value::Entry& first = value.entries()[0];
    if (entry.key_place.from_set() && !first.key_place.from_set()) {
      return node.error(first.key_place, "", refusal(choice, node, first.key));
    }
    return read_named(choice, entry, node, variant);
  }
  if (const Alternative* plain = find_plain(choice, value)) return choice.read(*plain, node, variant);
  refuse_mapping(choice, node);
}

}  // namespace

void add_alternatives(Choice& choice, std::span<const Alternative> alternatives) {
  choice.alternatives = alternatives;
  for (const Alternative& one : alternatives) {
    choice.advice.insert(choice.advice.end(), one.advice.begin(), one.advice.end());
  }
}

void read_choice(const Choice& choice, const Node& node, void* variant) {
  const Value& value = node.value();
  const auto text = as_text(value);
  const bool has_names = std::any_of(choice.alternatives.begin(), choice.alternatives.end(),
                                     [](const Alternative& a) { return !a.name.empty(); });
  if (const Alternative* named = text ? find_named(choice, *text) : nullptr) {
    read_bare(choice, *named, node, variant);
  } else if (value.is_mapping() && has_names) {
    read_mapping(choice, node, variant);
  } else if (const Alternative* plain = find_plain(choice, value)) {
    choice.read(*plain, node, variant);
  } else if (text && has_names && takes_number(choice) && !number_hint(value).empty()) {
    node.wrong(words(choice, node), number_hint(value));
  } else if (text && has_names && !as_plain_form(choice, node).empty()) {
    node.wrong(words(choice, node), as_plain_form(choice, node));
  } else if (text && has_names) {
    node.error(refusal(choice, node, *text));
  } else {
    node.wrong(words(choice, node), other_form(choice, node));
  }
}

bool accepts_choice(const Choice& choice, const Value& value) {
  if (find_plain(choice, value)) return true;
  return std::any_of(choice.alternatives.begin(), choice.alternatives.end(), [&](const Alternative& alternative) {
    if (alternative.name.empty()) return false;
    if (value.is_mapping()) return value.find(alternative.name) || (!choice.tag.empty() && value.find(choice.tag));
    return as_text(value) == alternative.name;
  });
}

Value show_choice(const std::string& tag, std::string_view name, Value options) {
  if (name.empty()) return options;
  if (!options.is_mapping() || options.entries().empty()) return text_value(name);
  if (tag.empty()) return Value::mapping({{std::string(name), {}, std::move(options)}});
  options.entries().insert(options.entries().begin(), {tag, {}, text_value(name)});
  return options;
}

Schema choice_schema(const Choice& choice, const Rules& rules) {
  Schema schema = scalar_schema(Schema::Kind::kChoice, rules);
  for (const Alternative& alternative : choice.alternatives) schema.parts.push_back(alternative.schema(rules));
  schema.tag = choice.tag;
  schema.noun = choice.noun;
  return schema;
}

}  // namespace mirrortrain::config::detail
