#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "config/by_name.h"
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
    if (!alternative.name.empty()) names.push_back({alternative.name, alternative.aliases});
  }
  return names;
}

std::string kind_of(const Choice& choice) { return choice.noun.empty() ? "name" : without_article(choice.noun); }

std::string words(const Choice& choice, const Node& node) { return in_words(choice_schema(choice, node.rules())); }

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

namespace {

/// Whether other programs use this key to name an alternative.
bool is_type_key(const Choice& choice, std::string_view key) {
  constexpr std::array<std::string_view, 5> kWords = {"type", "class_name", "name", "kind", "format"};
  return std::ranges::count(kWords, key) > 0 || key == kind_of(choice);
}

/// Whether an entry beside the type says the alternative's name again: {name: circ, type: circle}.
bool names_it(const Alternative& alternative, std::string_view key, const std::string& text) {
  const Name names[] = {{alternative.name, alternative.aliases}};
  return (key == "type" || key == "name") && nearest_name(text, names).has_value();
}

/// The options next to `type`, under the alternative's own names; in some programs' JSON they are one level deeper,
/// among keys that do not describe the thing.
std::vector<Value::Entry> options_meant(const Alternative& alternative, const Node& node, const Value::Entry& type) {
  std::vector<Name> known;
  for (const Schema::Key& key : alternative.schema({}).keys) known.push_back({key.name, key.aliases});
  const Value::Entry* const config = node.value().find("config");
  const bool is_json = config != nullptr && config->value.is_mapping();
  std::vector<Value::Entry> options;
  for (Value::Entry option : is_json ? config->value.entries() : node.value().entries()) {
    if (!is_json && option.key == type.key) continue;
    if (const auto text = as_text(option.value); !is_json && text && names_it(alternative, option.key, *text)) continue;
    const bool is_known = std::ranges::count(known, option.key, &Name::text) > 0;
    const auto meant = is_known ? option.key : nearest_name(option.key, known);
    if (!meant && (is_json || option.key == "name")) continue;
    if (meant) option.key = *meant;
    options.push_back(std::move(option));
  }
  return options;
}

}  // namespace

void refuse_sibling(const Choice& choice, const Node& node, const std::string& name, const Value::Entry& entry) {
  const bool is_item = choice.tag.empty() && find_named(choice, entry.key) != nullptr;
  if (is_item && !entry.key_place.from_set()) {
    return node.error(entry.key_place, entry.key,
                      fmt::format("does not belong to the item '{}'; begin an item of its own: - {}", name, entry.key));
  }
  if (!entry.key_place.from_set()) {
    return node.error(entry.key_place, entry.key,
                      fmt::format("does not belong beside '{0}'; indent it below '{0}'", name));
  }
  if (find_named(choice, entry.key) != nullptr) {
    return node.error(entry.key_place, entry.key,
                      fmt::format("the {}'s type cannot be set; it is '{}'", kind_of(choice), name));
  }
  node.error(
      entry.key_place, entry.key,
      fmt::format("unknown key; it belongs below '{}': {}.{}.{}", name, node.path(), name, shortened(entry.key)));
}

bool refuse_unknown_keys(const Choice& choice, const Node& node) {
  // If the tag's value resembles a name, only that alternative's keys can be meant.
  const Value::Entry* const tag = choice.tag.empty() ? nullptr : node.value().find(choice.tag);
  const auto tag_text = tag != nullptr ? as_text(tag->value) : std::nullopt;
  const auto chosen = tag_text ? nearest_name(*tag_text, names_of(choice)) : std::nullopt;
  // Keys of the forms that are recognized without a name, those of all alternatives, and those that may be meant.
  std::vector<Name> plain, all, meant;
  for (const Alternative& alternative : choice.alternatives) {
    for (const Schema::Key& key : alternative.schema(node.rules()).keys) {
      const Name name{key.name, key.aliases};
      all.push_back(name);
      if (alternative.name.empty()) plain.push_back(name);
      if (!chosen || alternative.name == *chosen) meant.push_back(name);
    }
  }
  bool form_is_meant = false;
  for (const Value::Entry& entry : node.value().entries()) {
    if (entry.key == choice.tag || std::ranges::count(all, entry.key, &Name::text) > 0) continue;
    const auto text = as_text(entry.value);
    const bool names_one = text && is_type_key(choice, entry.key) && nearest_name(*text, names_of(choice));
    const std::string tag_hint = names_one ? fmt::format("; did you mean '{}'?", choice.tag)
                                 : text    ? suggestion(entry.key, {choice.tag})
                                           : "";
    const std::string advice = tag_hint.empty() ? node.reading().root.advice_on_key(entry.key) : tag_hint;
    const std::string hint = advice.empty() ? suggestion(entry.key, meant) : advice;
    node.error(entry.key_place, entry.key,
               "unknown key" + (hint.empty() ? fmt::format("; no {} takes it", kind_of(choice)) : hint));
    form_is_meant = form_is_meant || !tag_hint.empty() || (!hint.empty() && hint == suggestion(entry.key, plain));
  }
  return form_is_meant;
}

/// `- {type: circle, radius: 64}` where the form is `- circle: {radius: 64}`. Returns whether it was that.
bool refuse_type_key(const Choice& choice, const Node& node) {
  const Value::Entry* type = nullptr;  // `type` itself before `name`, which may be a name of the user's
  std::string name;
  for (const Value::Entry& entry : node.value().entries()) {
    const auto text = is_type_key(choice, entry.key) ? as_text(entry.value) : std::nullopt;
    const auto nearest = text ? nearest_name(*text, names_of(choice)) : std::nullopt;
    if (nearest && (type == nullptr || entry.key == "type")) type = &entry, name = *nearest;
  }
  if (type == nullptr) return false;
  std::vector<Value::Entry> options = options_meant(*find_named(choice, name), node, *type);
  const std::string form =
      options.empty() ? name : fmt::format("{}: {}", name, flow_text(Value::mapping(std::move(options))));
  node.error(type->key_place, type->key, fmt::format("the {}'s name is its key; write - {}", kind_of(choice), form));
  return true;
}

namespace {

/// Whether a value is one of the choice's, by its name here or elsewhere.
bool means_one(const Choice& choice, const Value& value) {
  if (const auto text = as_text(value)) {
    const std::vector<Name> names = names_of(choice);
    return std::ranges::count(names, *text, &Name::text) > 0 || named_otherwise(*text, names) != nullptr;
  }
  if (!value.is_mapping()) return false;
  return std::ranges::any_of(value.entries(), [&](const Value::Entry& entry) {
    return entry.key == choice.tag || find_named(choice, entry.key) != nullptr;
  });
}

bool is_option(const Choice& choice, const std::string& key) {
  return std::ranges::any_of(choice.alternatives, [&](const Alternative& one) {
    return std::ranges::count(one.schema({}).keys, key, &Schema::Key::name) > 0;
  });
}

/// A mapping from names where one value is wanted: "expected one shape, found one for each of a, b; ..."; "" for
/// other mappings.
std::string one_for_each(const Choice& choice, const Node& node) {
  const auto means = [&](const Value::Entry& entry) { return means_one(choice, entry.value); };
  if (choice.tag.empty() || !maps_names(choice, node.value())) return "";
  if (!std::ranges::all_of(node.value().entries(), means)) return "";
  std::vector<std::string> keys;
  for (const Value::Entry& entry : node.value().entries()) keys.push_back(shortened(entry.key));
  const auto text = as_text(node.value().entries().front().value);
  const auto first = text ? nearest_name(*text, names_of(choice)) : std::nullopt;
  return fmt::format("expected one {}, found one for {}{}; write one alone{}", kind_of(choice),
                     keys.size() == 1 ? "" : "each of ", fmt::join(keys, ", "),
                     first ? fmt::format(", as {}: {}", node.name(), *first) : "");
}

}  // namespace

std::string name_meant(const Choice& choice, const Value& value) {
  const auto text = as_text(value);
  return text ? nearest_name(*text, names_of(choice)).value_or("") : "";
}

namespace {

/// The value with the names that its texts were probably meant to be.
Value with_names_meant(const Choice& choice, const Value& value) {
  if (value.is_sequence()) {
    std::vector<Value> items;
    for (const Value& item : value.items()) items.push_back(with_names_meant(choice, item));
    return Value::sequence(std::move(items));
  }
  const std::string name = name_meant(choice, value);
  return name.empty() ? value : text_value(name);
}

/// "give each side its own by name, as {SIDE: circle, SIDE: square}"
std::string by_names(const Choice& choice, const Node& node) {
  const std::string what(node.rules().named.empty() ? "name" : node.rules().named);
  std::string stand_in = what;
  for (char& c : stand_in) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::vector<Value::Entry> entries;
  for (const Value& item : node.value().items()) entries.push_back({stand_in, {}, with_names_meant(choice, item)});
  return fmt::format("give each {} its own by name, as {}", what, flow_text(Value::mapping(std::move(entries)), 200));
}

}  // namespace

bool refuse_choices_by_position(const Choice& choice, const Node& node) {
  const Value& value = node.value();
  const bool may_be_list = choice.tag.empty() || accepts_choice(choice, value);
  if (!value.is_sequence() || value.items().empty() || may_be_list) return false;
  const bool is_one = value.items().size() == 1;
  node.wrong(words(choice, node),
             is_one ? "write " + flow_text(with_names_meant(choice, value.items()[0])) : by_names(choice, node));
  return true;
}

bool refuse_lists_by_position(const Choice& choice, const Node& node) {
  const Value& value = node.value();
  const auto is_list = [](const Value& item) { return item.is_sequence(); };
  if (!value.is_sequence() || !std::ranges::any_of(value.items(), is_list)) return false;
  const bool is_one = value.items().size() == 1;
  node.wrong(fmt::format("a list, each item {}", words(choice, node)),
             is_one ? "write " + flow_text(with_names_meant(choice, value.items()[0])) : by_names(choice, node));
  return true;
}

bool maps_names(const Choice& choice, const Value& mapping) {
  const auto& entries = mapping.entries();
  if (names_of(choice).empty()) {  // forms alone: a mapping is one of them if it has a key of theirs
    return std::ranges::none_of(entries, [&](const Value::Entry& entry) { return is_option(choice, entry.key); });
  }
  // Where every value is a choice, keys are names, also those that options have: {left: {type: circle}, kind:
  // square}.
  const bool are_choices = std::ranges::all_of(entries, [&](const Value::Entry& entry) {
    return means_one(choice, entry.value) && (entry.key != choice.tag || entry.value.is_mapping());
  });
  if (are_choices && (entries.size() > 1 || (entries.size() == 1 && entries[0].value.is_mapping()))) return true;
  const auto is_of_a_name = [&](const Value::Entry& entry) {
    return !is_option(choice, entry.key) && (entry.value.is_mapping() || means_one(choice, entry.value));
  };
  const auto is_of_one = [&](const Value::Entry& entry) {
    const bool is_like_tag = is_type_key(choice, entry.key) || !suggestion(entry.key, {choice.tag}).empty();
    // {kind: {type: square}} and {kind: square, left: {...}} name something 'kind'.
    const bool is_named = entry.value.is_mapping() || std::ranges::any_of(entries, [&](const Value::Entry& other) {
                            return other.key != entry.key && is_of_a_name(other);
                          });
    const bool is_tag = is_like_tag && !is_named;
    return entry.key == choice.tag || is_tag || find_named(choice, entry.key) != nullptr ||
           is_option(choice, entry.key);
  };
  const auto is_mistyped = [&](const Value::Entry& entry) { return !name_meant(choice, entry.value).empty(); };
  return std::ranges::none_of(entries, is_of_one) && std::ranges::any_of(entries, [&](const Value::Entry& entry) {
           return means_one(choice, entry.value) || is_mistyped(entry);
         });
}

bool maps_names_to_lists(const Choice& choice, const Value& mapping) {
  const auto is_of_list = [&](const Value::Entry& entry) {
    return nearest_name(entry.key, names_of(choice)).has_value() && !entry.value.is_sequence();
  };
  return !mapping.entries().empty() && std::ranges::none_of(mapping.entries(), is_of_list);
}

void refuse_mapping(const Choice& choice, const Node& node) {
  const auto& entries = node.value().entries();
  if (const std::string text = one_for_each(choice, node); !text.empty()) {
    const Place& first = entries.front().key_place;
    return node.error(first.from_set() ? first : node.section_place(), "", text);
  }
  const bool one = entries.size() == 1;
  const std::vector<Name> names = names_of(choice);
  for (const Value::Entry& entry : entries) {
    const auto text = choice.tag.empty() || !is_type_key(choice, entry.key) ? std::nullopt : as_text(entry.value);
    if (text && nearest_name(*text, names)) continue;  // {name: circle}
    const bool holds_options = one || entry.value.is_mapping() || entry.value.is_null();
    const bool is_close = !suggestion(entry.key, names).empty();
    if ((one && choice.tag.empty()) || (holds_options && is_close)) {
      return node.error(entry.key_place, entry.key, refusal(choice, node, entry.key));
    }
  }
  if (choice.tag.empty() && refuse_type_key(choice, node)) return;
  if (choice.tag.empty()) return node.wrong(words(choice, node) + ": a name, or a mapping of one name to its options");
  if (!refuse_unknown_keys(choice, node)) {
    node.error(node.section_place(), "", fmt::format("missing key '{}'", choice.tag));
  }
}

}  // namespace mirrortrain::config::detail
