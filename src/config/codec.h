#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "config/node.h"
#include "config/scalar.h"
#include "config/schema.h"

namespace mirrortrain::config {

/// A value with the place where it was written, so that later stages can report errors there. For a section or a tagged
/// choice it is the place of its key; for a key that was not given, of the section that lacks it.
template <class T>
struct Located {
  T value{};
  Place place;
  std::string path;  ///< "shapes[3].circle"
};

/// A number of bytes: `26214400` or `25MiB`.
struct Size {
  std::uint64_t bytes = 0;

  friend bool operator==(const Size&, const Size&) = default;
};

/// A file or folder, absolute: in a configuration file relative to that file's folder, on the command line to the
/// working directory. Empty where none was given.
struct Path {
  std::string text;

  friend bool operator==(const Path&, const Path&) = default;
};

/// How a C++ type is written in a configuration. Specialize it for user-defined types:
///   static bool accepts(const Value&);               whether the form fits: picks a variant's alternative
///   static void read(const Node&, T&);               fills it, or adds errors to the node
///   static Value show(const T&);                     as it would be written
///   static Schema schema(const Rules&);
template <class T>
struct Codec;

/// The names of an enum's values: `static constexpr auto names = std::to_array<std::pair<std::string_view, E>>({...})`.
/// Optional: `aliases`, pairs of a name and what other programs call it, and `advice` on other values, an array of
/// Advice.
template <class E>
struct EnumNames;

/// The first name of an enum's value.
template <class E>
std::string_view name_of(E value) {
  for (const auto& [name, named] : EnumNames<E>::names) {
    if (named == value) return name;
  }
  return {};
}

/// The value with this name.
template <class E>
std::optional<E> value_named(std::string_view wanted) {
  for (const auto& [name, named] : EnumNames<E>::names) {
    if (name == wanted) return named;
  }
  return std::nullopt;
}

namespace detail {

// The parts of reading that need no template.
void read_boolean(const Node& node, bool& out);
void read_integer(const Node& node, std::int64_t low, std::int64_t high, std::int64_t& out);
void read_unsigned(const Node& node, std::uint64_t& out);
void read_number(const Node& node, bool single, double& out);
void read_text(const Node& node, std::string& out);
void read_path(const Node& node, Path& out);
void read_size(const Node& node, Size& out);
enum class NumberKind : std::uint8_t { kAny, kInteger };
/// Why a text given in place of a number is not one: "leave out the quotes", or "".
std::string number_hint(const Value& value, NumberKind kind = NumberKind::kAny);
/// The value of a number given in its usual form, as 1/255 or as 10%; nullopt for other values.
std::optional<double> number_meant(const Value& value);
/// Whether the number is within the bounds of the rules.
bool within(const Rules& rules, double number);
/// The advice of the key's rules, or else of its type, on this value: "write same, ...", or "".
std::string advice_on_value(const Node& node, std::span<const Advice> of_type = {});
/// The index in names, or nothing after an error.
std::optional<std::size_t> read_name(const Node& node, const Schema& names);
Schema scalar_schema(Schema::Kind kind, const Rules& rules);
/// What a scalar of the kind may be, for messages: "an integer of at least 1".
std::string words(Schema::Kind kind, const Node& node);

}  // namespace detail

template <>
struct Codec<bool> {
  static bool accepts(const Value& value) { return meaning_of(value) == Meaning::kBoolean; }
  static void read(const Node& node, bool& out) { detail::read_boolean(node, out); }
  static Value show(bool value) { return Value::scalar(value ? "true" : "false", false); }
  static Schema schema(const Rules& rules) { return detail::scalar_schema(Schema::Kind::kBoolean, rules); }
};

template <std::signed_integral T>
struct Codec<T> {
  static bool accepts(const Value& value) { return meaning_of(value) == Meaning::kInteger; }
  static void read(const Node& node, T& out) {
    std::int64_t wide = out;
    detail::read_integer(node, std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), wide);
    out = static_cast<T>(wide);
  }
  static Value show(T value) { return Value::scalar(std::to_string(value), false); }
  static Schema schema(const Rules& rules) { return detail::scalar_schema(Schema::Kind::kInteger, rules); }
};

template <>
struct Codec<std::uint64_t> {
  static bool accepts(const Value& value) { return meaning_of(value) == Meaning::kInteger; }
  static void read(const Node& node, std::uint64_t& out) { detail::read_unsigned(node, out); }
  static Value show(std::uint64_t value) { return Value::scalar(std::to_string(value), false); }
  static Schema schema(const Rules& rules) {
    Schema schema = detail::scalar_schema(Schema::Kind::kInteger, rules);
    schema.is_unsigned = true;
    return schema;
  }
};

template <std::floating_point T>
struct Codec<T> {
  static bool accepts(const Value& value) {
    return meaning_of(value) == Meaning::kNumber || meaning_of(value) == Meaning::kInteger;
  }
  static void read(const Node& node, T& out) {
    double wide = out;
    detail::read_number(node, sizeof(T) == sizeof(float), wide);
    out = static_cast<T>(wide);
  }
  static Value show(T value) { return number_value(value); }
  static Schema schema(const Rules& rules) { return detail::scalar_schema(Schema::Kind::kNumber, rules); }
};

template <>
struct Codec<std::string> {
  static bool accepts(const Value& value) { return meaning_of(value) == Meaning::kText; }
  static void read(const Node& node, std::string& out) { detail::read_text(node, out); }
  static Value show(const std::string& value) { return text_value(value); }
  static Schema schema(const Rules& rules) { return detail::scalar_schema(Schema::Kind::kText, rules); }
};

template <>
struct Codec<Path> {
  static bool accepts(const Value& value) { return meaning_of(value) == Meaning::kText; }
  static void read(const Node& node, Path& out) { detail::read_path(node, out); }
  static Value show(const Path& value) { return text_value(value.text); }
  static Schema schema(const Rules& rules) { return detail::scalar_schema(Schema::Kind::kPath, rules); }
};

template <>
struct Codec<Size> {
  static bool accepts(const Value& value) { return value.is_scalar() && parse_size(value.text()).has_value(); }
  static void read(const Node& node, Size& out) { detail::read_size(node, out); }
  static Value show(const Size& value) { return Value::scalar(std::to_string(value.bytes), false); }
  static Schema schema(const Rules& rules) { return detail::scalar_schema(Schema::Kind::kSize, rules); }
};

template <>
struct Codec<Value> {
  static bool accepts(const Value&) { return true; }
  static void read(const Node& node, Value& out) { out = node.value(); }
  static Value show(const Value& value) { return value; }
  static Schema schema(const Rules&) { return {}; }
};

template <class E>
requires std::is_enum_v<E>
struct Codec<E> {
  static bool accepts(const Value& value) { return meaning_of(value) == Meaning::kText; }
  static void read(const Node& node, E& out) {
    if (const auto index = detail::read_name(node, schema(node.rules()))) out = EnumNames<E>::names[*index].second;
  }
  static Value show(E value) {
    const std::string_view name = name_of(value);
    return name.empty() ? Value() : text_value(name);
  }
  static Schema schema(const Rules& rules) {
    Schema schema = detail::scalar_schema(Schema::Kind::kNames, rules);
    for (const auto& [name, named] : EnumNames<E>::names) schema.names.push_back({std::string(name)});
    if constexpr (requires { EnumNames<E>::aliases; }) {
      for (const auto& [name, aliases] : EnumNames<E>::aliases) {
        for (Name& one : schema.names) {
          if (one.text == name) one.aliases = aliases;
        }
      }
    }
    if constexpr (requires { EnumNames<E>::advice; }) {
      schema.advice.assign(EnumNames<E>::advice.begin(), EnumNames<E>::advice.end());
    }
    return schema;
  }
};

}  // namespace mirrortrain::config
