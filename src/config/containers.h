#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/codec.h"

namespace mirrortrain::config {

namespace detail {

/// Whether the value is a list of the command line that was written without brackets: `1,2`, `red`.
bool is_bare_list(const Value& value);
using ReadList = std::function<void(const Node&)>;
/// What an item was probably meant to be: "red" for `reddish`; "" where that is not known.
using MeantItem = std::function<std::string(const Value&)>;
/// "write [x]", for a value that is not a list but that `read` would accept in brackets.
std::string list_hint(const Node& node, const ReadList& read, const MeantItem& meant);
/// Its items, as if it had brackets. Errors are added to the node.
Value with_brackets(const Node& node);
/// Whether the value is a list that satisfies the node's rules and, where `length` is given, has that many items.
/// `schema`: of the list, asked for only when the value is wrong, because that of a long choice takes a while to make;
/// `hint`: for a value that is not a list.
bool check_list(const Node& node, std::optional<std::size_t> length, const std::function<Schema()>& schema,
                const std::function<std::string()>& hint);
Schema list_schema(Schema item, const Rules& rules, std::optional<std::size_t> length);
Schema optional_schema(Schema inner);

}  // namespace detail

template <class T>
struct Codec<std::optional<T>> {
  static bool accepts(const Value& value) { return value.is_null() || Codec<T>::accepts(value); }
  static void read(const Node& node, std::optional<T>& out) {
    if (node.value().is_null()) {
      out.reset();
    } else {
      Codec<T>::read(node, out.emplace());
    }
  }
  static void locate(const Node& node, const std::optional<T>& value, Place& place, std::string& path) {
    if constexpr (requires { Codec<T>::locate(node, *value, place, path); }) {
      if (value) Codec<T>::locate(node, *value, place, path);
    }
  }
  static Value show(const std::optional<T>& value) { return value ? Codec<T>::show(*value) : Value(); }
  static Schema schema(const Rules& rules) { return detail::optional_schema(Codec<T>::schema(rules)); }
};

template <class T>
struct Codec<std::vector<T>> {
  static bool accepts(const Value& value) { return value.is_sequence() || detail::is_bare_list(value); }
  static void read(const Node& node, std::vector<T>& out) {
    if (detail::is_bare_list(node.value())) return read(node.with_value(detail::with_brackets(node)), out);
    const bool may_be_emptied = node.value().is_null() && !node.rules().non_empty;
    const auto hint = [&] { return may_be_emptied ? "write [] for none" : list_hint(node); };
    if (!detail::check_list(
            node, std::nullopt, [&] { return schema(node.rules()); }, hint))
      return;
    const Rules rules = node.rules().for_items();
    const std::size_t count = node.value().items().size();
    out.clear();
    out.reserve(count);
    for (std::size_t i = 0; i < count && !node.errors().full(); ++i) {
      T item{};
      Codec<T>::read(node.item(i, rules), item);
      out.push_back(std::move(item));
    }
  }
  /// "write [x]", or "".
  static std::string list_hint(const Node& node) {
    detail::MeantItem meant;
    if constexpr (requires(const Value& item) { Codec<T>::meant(item); }) meant = Codec<T>::meant;
    const auto read_list = [](const Node& list) {
      std::vector<T> items;
      read(list, items);
    };
    return detail::list_hint(node, read_list, meant);
  }
  static Value show(const std::vector<T>& values) {
    std::vector<Value> items;
    items.reserve(values.size());
    for (const T& value : values) items.push_back(Codec<T>::show(value));
    return Value::sequence(std::move(items));
  }
  static Schema schema(const Rules& rules) {
    return detail::list_schema(Codec<T>::schema(rules.for_items()), rules, std::nullopt);
  }
};

template <class T, std::size_t N>
struct Codec<std::array<T, N>> {
  static bool accepts(const Value& value) { return value.is_sequence(); }
  static void read(const Node& node, std::array<T, N>& out) {
    const bool one = node.rules().scalar_fills && as_integer(node.value());
    if (!one && detail::is_bare_list(node.value())) return read(node.with_value(detail::with_brackets(node)), out);
    if (const std::string hint = one || !as_text(node.value()) ? "" : list_hint(node); !hint.empty()) {
      return node.wrong(in_words(schema(node.rules())), hint);
    }
    if (node.rules().scalar_fills && !node.value().is_sequence()) {
      T item{};
      Codec<T>::read(node, item);
      out.fill(item);
    } else if (detail::check_list(
                   node, N, [&] { return schema(node.rules()); }, [&] { return list_hint(node); })) {
      const Rules rules = node.rules().for_items();
      for (std::size_t i = 0; i < N; ++i) Codec<T>::read(node.item(i, rules), out[i]);
    }
  }
  static std::string list_hint(const Node& node) {
    const auto read_list = [](const Node& list) {
      std::array<T, N> items;
      read(list, items);
    };
    return detail::list_hint(node, read_list, {});
  }
  static Value show(const std::array<T, N>& values) {
    std::vector<Value> items;
    for (const T& value : values) items.push_back(Codec<T>::show(value));
    return Value::sequence(std::move(items));
  }
  static Schema schema(const Rules& rules) {
    return detail::list_schema(Codec<T>::schema(rules.for_items()), rules, N);
  }
};

template <class T>
struct Codec<Located<T>> {
  static bool accepts(const Value& value) { return Codec<T>::accepts(value); }
  static void read(const Node& node, Located<T>& out) {
    out.place = node.value().is_scalar() || node.value().is_sequence() ? node.value().place() : node.section_place();
    out.path = node.path();
    Codec<T>::read(node, out.value);
    if constexpr (requires { Codec<T>::locate(node, out.value, out.place, out.path); }) {
      Codec<T>::locate(node, out.value, out.place, out.path);
    }
  }
  /// The key was not given: the section that lacks it is the place.
  static void absent(const Node& node, Located<T>& out) {
    out.place = node.section_place();
    out.path = node.path();
    if constexpr (requires { Codec<T>::absent(node, out.value); }) Codec<T>::absent(node, out.value);
  }
  static std::string meant(const Value& item) requires requires { Codec<T>::meant(item); }
  { return Codec<T>::meant(item); }
  static Value show(const Located<T>& located) { return Codec<T>::show(located.value); }
  static Schema schema(const Rules& rules) { return Codec<T>::schema(rules); }
};

}  // namespace mirrortrain::config
