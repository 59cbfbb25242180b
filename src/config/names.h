#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mirrortrain::config {

// What other programs call things. Declarations say it, each beside what it leads to; this library looks it up and
// knows none of the names itself.

/// A declared name with what other libraries and common usage call the same thing, separated by commas: {"width",
/// "w, breadth"}.
struct Name {
  std::string text;
  std::string_view aliases = {};
};

/// What to write in place of names that have no equivalent: {"area, surface", "write width and height"}. How a name is
/// spelled, LineWidth or line_width, makes no difference, here and in aliases.
struct Advice {
  std::string_view names, text;
};

/// Characters allowed in key names.
inline constexpr std::string_view kNameCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

/// "LineWidth" and "line_width" alike: "linewidth".
std::string plain(std::string_view name);

/// The one of `names` that `name` is a different spelling of, or else an alias of; null if there is none.
const Name* named_otherwise(std::string_view name, std::span<const Name> names);

/// The one of `names` that was probably meant: as by named_otherwise, or else the nearest within two edits.
std::optional<std::string> nearest_name(std::string_view name, std::span<const Name> names);
std::optional<std::string> nearest_name(std::string_view name, const std::vector<std::string>& names);

/// "; did you mean 'width'?" with the nearest name, or "".
std::string suggestion(std::string_view name, std::span<const Name> names);
std::string suggestion(std::string_view name, const std::vector<std::string>& names);

/// "; write width and height" if there is advice on the name, or "".
std::string advice_on(std::string_view name, std::span<const Advice> advice);

/// The names, each with the aliases that it has among the declared ones.
std::vector<Name> with_aliases(const std::vector<std::string>& names, std::span<const Name> declared);

/// The names alone, for messages.
std::vector<std::string> texts_of(std::span<const Name> names);

}  // namespace mirrortrain::config
