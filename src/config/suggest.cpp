// Suggestions for unknown names.
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

/// Whether two similar names refer to different things: max_pooling1d and max_pooling2d, minimum and maximum.
bool are_apart(std::string_view a, std::string_view b) {
  const auto split = [](std::string_view name) {
    std::pair<std::string, std::string> parts;  // letters, digits
    for (const char c : name) (c >= '0' && c <= '9' ? parts.second : parts.first) += c;
    return parts;
  };
  const auto [letters_a, digits_a] = split(a);
  const auto [letters_b, digits_b] = split(b);
  if (letters_a == letters_b && digits_a.size() == digits_b.size()) return digits_a != digits_b;
  const auto other = [](std::string name) {
    const std::size_t least = name.find("min"), most = name.find("max");
    if (least != name.npos) name.replace(least, 3, "max");
    if (most != name.npos) name.replace(most, 3, "min");
    return name;
  };
  return other(std::string(a)) == b;
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
    // Two edits can turn a short name into any other.
    if (distance < least && distance < longer && !are_apart(name, other)) least = distance, nearest = &other;
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
    add_sections(key.type, sections);
    for (const Schema* section : sections) {
      for (const Schema::Key& inner : section->keys) {
        const auto has_it = [&](const Schema* other) {
          return std::ranges::any_of(other->keys, [&](const Schema::Key& one) { return one.name == inner.name; });
        };
        if (!of_some_types && !std::ranges::all_of(sections, has_it)) continue;
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
