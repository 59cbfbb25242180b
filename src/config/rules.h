#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/names.h"

namespace mirrortrain::config {

/// Constraints of a key's declaration on its value. In a list the bounds apply to each item.
struct Rules {
  bool required = false;
  /// The key may be omitted or null if the sibling `unless` has a value and none of `together` is given.
  struct Exemption {
    std::string unless;
    std::vector<std::string> together;
  };
  std::optional<Exemption> exemption;
  std::string excludes;  ///< a sibling that may not have a value if the key has one
  std::optional<double> low, high;
  bool above_low = false, below_high = false;  ///< the bound itself is not allowed
  bool non_empty = false;                      ///< a text or a list
  /// For a list that is expanded before it is read: names of mappings that expand to items, and the sibling whose keys
  /// do. Only for the JSON Schema.
  std::string written_out, written_out_by;
  bool scalar_fills = false;       ///< one scalar is used for all items of an array, and of arrays in it: size: 3
  bool allow_infinite = false;     ///< .inf and .nan
  std::vector<std::string> names;  ///< the only texts allowed, where not empty
  /// For a text that is checked elsewhere: an ECMA-262 expression that it matches. Only for the JSON Schema.
  std::string pattern;

  std::string_view named;      ///< what has the names of a ByName, in messages: "side"
  std::string_view aliases;    ///< what other programs call the key: see Name
  std::vector<Advice> advice;  ///< on values that other programs accept

  /// The rules for a list's items.
  Rules for_items() const {
    Rules rules = *this;
    rules.required = rules.non_empty = false;
    rules.exemption.reset();
    rules.written_out.clear();
    rules.written_out_by.clear();
    return rules;
  }
};

/// The constraints that follow a key's help in its declaration.
inline constexpr auto required = [](Rules& rules) { rules.required = true; };
inline auto required_unless(std::string sibling, std::vector<std::string> together) {
  return [exemption = Rules::Exemption{std::move(sibling), std::move(together)}](Rules& rules) {
    rules.exemption = exemption;
  };
}
inline auto excludes(std::string sibling) {
  return [sibling = std::move(sibling)](Rules& rules) { rules.excludes = sibling; };
}
inline constexpr auto non_empty = [](Rules& rules) { rules.non_empty = true; };
inline auto written_out(std::string name, std::string sibling) {
  return [name = std::move(name), sibling = std::move(sibling)](Rules& rules) {
    rules.written_out = name;
    rules.written_out_by = sibling;
  };
}
inline constexpr auto scalar_fills = [](Rules& rules) { rules.scalar_fills = true; };
inline constexpr auto allow_infinite = [](Rules& rules) { rules.allow_infinite = true; };

inline auto at_least(double bound) {
  return [bound](Rules& rules) { rules.low = bound; };
}
inline auto at_most(double bound) {
  return [bound](Rules& rules) { rules.high = bound; };
}
inline auto greater_than(double bound) {
  return [bound](Rules& rules) { rules.low = bound, rules.above_low = true; };
}
inline auto less_than(double bound) {
  return [bound](Rules& rules) { rules.high = bound, rules.below_high = true; };
}
/// Both ends allowed.
inline auto between(double low, double high) {
  return [low, high](Rules& rules) { rules.low = low, rules.high = high; };
}
inline auto matches(std::string pattern) {
  return [pattern = std::move(pattern)](Rules& rules) { rules.pattern = pattern; };
}
/// What other programs call the key: aliases("w, breadth"). It outlives the declaration.
inline constexpr auto aliases(std::string_view names) {
  return [names](Rules& rules) { rules.aliases = names; };
}
/// What the names of a ByName are those of: by("side") for {left: circle, right: square}.
inline constexpr auto by(std::string_view what) {
  return [what](Rules& rules) { rules.named = what; };
}
/// What to write in place of values that are not accepted: advice("none, -1", "write 0"). "a list", "a mapping" and "a
/// number" stand for all of that kind.
inline constexpr auto advice(std::string_view values, std::string_view text) {
  return [values, text](Rules& rules) { rules.advice.push_back({values, text}); };
}
inline auto one_of(std::vector<std::string> names) {
  return [names = std::move(names)](Rules& rules) { rules.names = names; };
}

}  // namespace mirrortrain::config
