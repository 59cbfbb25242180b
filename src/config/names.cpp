// Looks up what a name that nobody declared was meant for.
#include "config/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/utf8.h"
#include "config/known_names.h"
#include "config/scalar.h"

namespace mirrortrain::config {
namespace {

/// Whether a list such as "w, breadth" has the name, which is in the form of plain().
bool lists(std::string_view list, std::string_view wanted) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (plain(list.substr(0, comma)) == wanted) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

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

/// Whether two similar names refer to different things: shape1d and shape2d, minimum and maximum.
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

std::vector<Name> without_aliases(const std::vector<std::string>& names) {
  std::vector<Name> bare;
  for (const std::string& name : names) bare.push_back({name});
  return bare;
}

}  // namespace

std::string plain(std::string_view name) {
  std::string text;
  for (const char c : in_lower_case(without_odd_characters(name))) {
    if (c != '_' && c != '-' && c != ' ' && c != '.') text += c;
  }
  return text;
}

const Name* named_otherwise(std::string_view name, std::span<const Name> names) {
  const std::size_t dot = name.rfind('.');  // library.module.Name
  if (dot != std::string_view::npos && dot + 1 < name.size()) return named_otherwise(name.substr(dot + 1), names);
  const std::string wanted = plain(name);
  if (wanted.empty()) return nullptr;
  const auto same = std::ranges::find_if(names, [&](const Name& other) { return plain(other.text) == wanted; });
  if (same != names.end()) return &*same;
  const auto alias = std::ranges::find_if(names, [&](const Name& other) { return lists(other.aliases, wanted); });
  return alias != names.end() ? &*alias : nullptr;
}

std::optional<std::string> nearest_name(std::string_view name, std::span<const Name> names) {
  if (const Name* known = named_otherwise(name, names)) return known->text;
  constexpr std::size_t kMostEdits = 2;
  std::size_t least = kMostEdits + 1;
  const std::string* nearest = nullptr;
  for (const auto& [other, aliases] : names) {
    const std::size_t longer = std::max(name.size(), other.size()), shorter = std::min(name.size(), other.size());
    if (longer - shorter > kMostEdits) continue;
    const std::size_t distance = edits(name, other);
    // Two edits can turn a short name into any other.
    if (distance < least && distance < longer && !are_apart(name, other)) least = distance, nearest = &other;
  }
  return nearest != nullptr ? std::optional(*nearest) : std::nullopt;
}

std::optional<std::string> nearest_name(std::string_view name, const std::vector<std::string>& names) {
  return nearest_name(name, without_aliases(names));
}

std::string suggestion(std::string_view name, std::span<const Name> names) {
  const auto nearest = nearest_name(name, names);
  return nearest ? fmt::format("; did you mean '{}'?", shortened(*nearest)) : "";
}

std::string suggestion(std::string_view name, const std::vector<std::string>& names) {
  return suggestion(name, without_aliases(names));
}

std::string suggestion_or_known(std::string_view name, const std::vector<std::string>& names,
                                std::span<const Name> declared) {
  constexpr std::size_t kMost = 12;
  std::string nearest = suggestion(name, with_aliases(names, declared));
  if (!nearest.empty() || names.empty()) return nearest;
  const std::size_t listed = names.size() > kMost + 1 ? kMost : names.size();
  std::string known;
  for (std::size_t i = 0; i < listed; ++i) known += (i == 0 ? "" : ", ") + shortened(names[i]);
  return fmt::format("; known: {}{}", known,
                     listed < names.size() ? fmt::format(" and {} more", names.size() - listed) : "");
}

std::string advice_on(std::string_view name, std::span<const Advice> advice) {
  const std::string wanted = plain(name);
  const auto found = std::ranges::find_if(advice, [&](const Advice& one) { return lists(one.names, wanted); });
  return found != advice.end() ? fmt::format("; {}", found->text) : "";
}

std::vector<Name> with_aliases(const std::vector<std::string>& names, std::span<const Name> declared) {
  std::vector<Name> all = without_aliases(names);
  for (Name& name : all) {
    const auto same = std::ranges::find(declared, name.text, &Name::text);
    if (same != declared.end()) name.aliases = same->aliases;
  }
  return all;
}

std::vector<std::string> texts_of(std::span<const Name> names) {
  std::vector<std::string> texts;
  for (const Name& name : names) texts.push_back(name.text);
  return texts;
}

}  // namespace mirrortrain::config
