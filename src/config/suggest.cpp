// What a name that is not known was probably meant to be.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "config/names.h"
#include "config/scalar.h"
#include "config/schema.h"

namespace mirrortrain::config {
namespace {

// Levenshtein's distance, by rows.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

void add_sections(const Schema& type, std::vector<const Schema*>& sections) {
  if (type.kind == Schema::Kind::kSection) sections.push_back(&type);
  const bool tagged = type.kind == Schema::Kind::kChoice && !type.tag.empty();
  if (type.kind != Schema::Kind::kEither && !tagged) return;
  for (const Schema& part : type.parts) add_sections(part, sections);
}

std::optional<std::string> nearest_name(std::string_view name, const std::vector<std::string>& names) {
  if (const std::string* known = named_otherwise(name, names)) return *known;
  constexpr std::size_t kMostEdits = 2;
  std::size_t least = kMostEdits + 1;
  const std::string* nearest = nullptr;
  for (const std::string& other : names) {
    const std::size_t longer = std::max(name.size(), other.size()), shorter = std::min(name.size(), other.size());
    if (longer - shorter > kMostEdits) continue;
    const std::size_t distance = edits(name, other);
    // Two edits of a short name make any other of it.
    if (distance < least && distance < longer) least = distance, nearest = &other;
  }
  return nearest != nullptr ? std::optional(*nearest) : std::nullopt;
}

std::string suggestion(std::string_view name, const std::vector<std::string>& names) {
  const auto nearest = nearest_name(name, names);
  return nearest ? fmt::format("; did you mean '{}'?", shortened(*nearest)) : "";
}

std::optional<std::string> key_elsewhere(std::string_view name, const Schema& root, bool of_some_types) {
  if (name == "type") return std::nullopt;  // of many things
  std::vector<std::string> paths, last;     // of the keys of the root's sections
  for (const Schema::Key& key : root.keys) {
    std::vector<const Schema*> sections;
    if (!key.planned) add_sections(key.type, sections);
    for (const Schema* section : sections) {
      for (const Schema::Key& inner : section->keys) {
        const auto has_it = [&](const Schema* other) {
          return std::ranges::any_of(other->keys, [&](const Schema::Key& one) { return one.name == inner.name; });
        };
        if (inner.planned || (!of_some_types && !std::ranges::all_of(sections, has_it))) continue;
        paths.push_back(key.name + "." + inner.name);
        last.push_back(inner.name);
      }
    }
  }
  const std::string* found = named_otherwise(name, last);
  if (found != nullptr) return paths[static_cast<std::size_t>(found - last.data())];
  std::vector<std::string> tops;
  for (const Schema::Key& key : root.keys) tops.push_back(key.name);
  found = named_otherwise(name, tops);
  return found != nullptr ? std::optional(*found) : std::nullopt;
}

}  // namespace mirrortrain::config
