// Where in the document a name belongs that was written elsewhere.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "config/names.h"
#include "config/schema.h"

namespace mirrortrain::config {
namespace {

bool is_called(const Schema& section, std::string_view name) {
  const Name names[] = {{section.name, section.aliases}};
  return named_otherwise(name, names) != nullptr;
}

/// Finds the first list ("callbacks") whose choice has the alternative `name`, or a callback with that key.
struct Item {
  std::string list, alternative;
  std::string key = {};
};
void find_items(const Schema& section, const std::string& path, const std::string& name, std::optional<Item>& found) {
  for (const Schema::Key& key : section.keys) {
    if (found) return;
    const std::string here = path.empty() ? key.name : path + "." + key.name;
    std::vector<const Schema*> sections;
    add_sections(key.type, sections);
    for (const Schema* inner : sections) {
      if (path.empty()) find_items(*inner, here, name, found);
    }
    if (key.type.kind != Schema::Kind::kList || key.type.parts[0].kind != Schema::Kind::kChoice) continue;
    for (const Schema& part : key.type.parts[0].parts) {
      if (found || part.name.empty()) continue;
      if (plain(part.name) == name || is_called(part, name)) found = Item{here, part.name};
      if (here != "callbacks") continue;  // many layers have the same keys
      std::vector<Name> keys;
      for (const Schema::Key& own : part.keys) keys.push_back({own.name, own.aliases});
      if (const Name* const meant = named_otherwise(name, keys)) found = Item{here, part.name, meant->text};
    }
  }
}

/// Whether all alternatives of a choice below have a key of that name: `name` is one of many things.
bool all_have(const Schema& schema, std::string_view name) {
  const auto has_key = [&](const Schema& part) { return std::ranges::count(part.keys, name, &Schema::Key::name) > 0; };
  if (schema.kind == Schema::Kind::kChoice && !schema.parts.empty() && std::ranges::all_of(schema.parts, has_key)) {
    return true;
  }
  return std::ranges::any_of(schema.keys, [&](const Schema::Key& key) { return all_have(key.type, name); }) ||
         std::ranges::any_of(schema.parts, [&](const Schema& part) { return all_have(part, name); });
}

void add_advice(const Schema& schema, std::vector<Advice>& advice) {
  if (schema.kind == Schema::Kind::kSection) {
    advice.insert(advice.end(), schema.advice.begin(), schema.advice.end());
  }
  for (const Schema::Key& key : schema.keys) add_advice(key.type, advice);
  for (const Schema& part : schema.parts) add_advice(part, advice);
}

}  // namespace

void add_sections(const Schema& type, std::vector<const Schema*>& sections) {
  if (type.kind == Schema::Kind::kSection) sections.push_back(&type);
  const bool tagged = type.kind == Schema::Kind::kChoice && !type.tag.empty();
  if (type.kind != Schema::Kind::kEither && !tagged) return;
  for (const Schema& part : type.parts) add_sections(part, sections);
}

std::optional<std::string> key_elsewhere(std::string_view name, const Schema& root, bool of_some_types) {
  if (name == "type") return std::nullopt;  // of many things
  std::vector<std::string> paths;           // of the keys of the root's sections
  std::vector<Name> last;
  for (const Schema::Key& key : root.keys) {
    std::vector<const Schema*> sections;
    add_sections(key.type, sections);
    for (const Schema* section : sections) {
      for (const Schema::Key& inner : section->keys) {
        const auto has_it = [&](const Schema* other) {
          return std::ranges::any_of(other->keys, [&](const Schema::Key& one) { return one.name == inner.name; });
        };
        if (!of_some_types && !std::ranges::all_of(sections, has_it)) continue;
        paths.push_back(key.name + "." + inner.name);
        last.push_back({inner.name, inner.aliases});
      }
    }
  }
  const Name* found = named_otherwise(name, last);
  if (found != nullptr) return paths[static_cast<std::size_t>(found - last.data())];
  std::vector<Name> tops;
  for (const Schema::Key& key : root.keys) tops.push_back({key.name, key.aliases});
  found = named_otherwise(name, tops);
  const auto is_of_others = [&](const Schema::Key& key) { return all_have(key.type, name); };
  if (found != nullptr && found->text == name && std::ranges::any_of(root.keys, is_of_others)) return std::nullopt;
  return found != nullptr ? std::optional(found->text) : std::nullopt;
}

std::string item_elsewhere(std::string_view name, const Schema& root) {
  std::optional<Item> item;
  find_items(root, "", plain(name), item);
  if (!item) return "";
  return !item->key.empty()
             ? fmt::format("; it belongs to an item of {}: - {}: {{{}: ...}}", item->list, item->alternative, item->key)
             : fmt::format("; it belongs in the list {}: - {}", item->list, item->alternative);
}

std::vector<Advice> advice_on_keys(const Schema& root) {
  std::vector<Advice> advice;
  add_advice(root, advice);
  return advice;
}

}  // namespace mirrortrain::config
