#include "config/choice_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "config/names.h"

namespace mirrortrain::config::detail {

bool is_type_key(const Choice& choice, std::string_view key) {
  constexpr std::array<std::string_view, 5> kWords = {"type", "class_name", "name", "kind", "format"};
  return std::ranges::count(kWords, key) > 0 || key == kind_of(choice);
}

namespace {

/// Whether an entry beside the type says the alternative's name again: {name: circ, type: circle}.
bool names_it(const Alternative& alternative, std::string_view key, const std::string& text) {
  const Name names[] = {{std::string(alternative.name), alternative.aliases}};
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
