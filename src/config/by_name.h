#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/choice.h"
#include "config/map.h"

namespace mirrortrain::config {

/// One value that stands for all of something, or a mapping from names to a value each: `shape: circle`, or
/// `shape: {left: circle, right: square}`. Without either the key was not given.
template <class T>
struct ByName {
  std::optional<T> one;
  Map<T> named;

  bool is_given() const { return one || !named.empty(); }
  /// The value for a name: the one, else the name's own; null if it has none.
  const T* find(std::string_view name) const { return one ? &*one : named.find(name); }
  /// The value of one thing alone, which may be written by its name; null if there are several or none.
  const T* only() const { return one ? &*one : named.entries.size() == 1 ? &named.entries[0].second : nullptr; }
  std::vector<const T*> all() const {
    std::vector<const T*> values;
    if (one) values.push_back(&*one);
    for (const auto& [name, value] : named.entries) values.push_back(&value);
    return values;
  }
};

namespace detail {

/// Whether a mapping that could be a choice is one from names to choices instead: `{a: square, b: {type: circle}}`.
bool maps_names(const Choice& choice, const Value& mapping);
/// Whether a mapping in place of a list of choices is one from names to such lists: none of its keys is a choice.
bool maps_names_to_lists(const Choice& choice, const Value& mapping);
/// Adds the error of a list, or of a list of lists, that gives each thing its value by its position instead of by its
/// name. Returns whether it is one.
bool refuse_choices_by_position(const Choice& choice, const Node& node);
bool refuse_lists_by_position(const Choice& choice, const Node& node);

/// How a mapping is distinguished from a value of the type; by default no value is a mapping.
template <class T>
struct Names {
  static constexpr bool kOfLists = false;
  static bool in(const Value&) { return true; }
  static bool refuse_positions(const Node&) { return false; }
};
template <class T>
struct Names<Located<T>> : Names<T> {};
template <AnyVariant Variant>
struct Names<Variant> {
  static constexpr bool kOfLists = false;
  static bool in(const Value& mapping) { return maps_names(choice_of<Variant>(), mapping); }
  static bool refuse_positions(const Node& node) { return refuse_choices_by_position(choice_of<Variant>(), node); }
};
template <AnyVariant Variant>
struct Names<std::vector<Located<Variant>>> {
  static constexpr bool kOfLists = true;
  static bool in(const Value& mapping) { return maps_names_to_lists(choice_of<Variant>(), mapping); }
  static bool refuse_positions(const Node& node) { return refuse_lists_by_position(choice_of<Variant>(), node); }
};

}  // namespace detail

template <class T>
struct Codec<ByName<T>> {
  static bool accepts(const Value& value) { return is_by_name(value) || Codec<T>::accepts(value); }
  static void read(const Node& node, ByName<T>& out) {
    out = {};
    if (is_by_name(node.value())) return Codec<Map<T>>::read(node, out.named);
    if (detail::Names<T>::refuse_positions(node)) return;
    Codec<T>::read(node, out.one.emplace());
  }
  /// A list that was not given is an empty one.
  static void absent(const Node&, ByName<T>& out) {
    if constexpr (detail::Names<T>::kOfLists) out.one.emplace();
  }
  static Value show(const ByName<T>& value) {
    if (!value.is_given()) return Value();
    return value.one ? Codec<T>::show(*value.one) : Codec<Map<T>>::show(value.named);
  }
  static Schema schema(const Rules& rules) {
    Schema schema = Codec<T>::schema(rules);
    schema.by_name = true;
    return schema;
  }

 private:
  static bool is_by_name(const Value& value) { return value.is_mapping() && detail::Names<T>::in(value); }
};

}  // namespace mirrortrain::config
