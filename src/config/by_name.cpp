#include "config/by_name.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "config/choice_errors.h"
#include "config/names.h"

namespace mirrortrain::config::detail {
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

}  // namespace mirrortrain::config::detail
