#pragma once

#include <string>
#include <utility>
#include <vector>

#include "config/containers.h"

namespace mirrortrain::config {

namespace detail {
/// "write {0: 1.0, 1: 5.0}" for the list [1.0, 5.0]; "" for other values.
std::string as_numbered(const Value& value);
}  // namespace detail

/// A mapping with arbitrary keys and values of one type, in the order written.
template <class T>
struct Map {
  std::vector<std::pair<std::string, T>> entries;

  bool empty() const { return entries.empty(); }
  const T* find(std::string_view key) const {
    for (const auto& [name, value] : entries) {
      if (name == key) return &value;
    }
    return nullptr;
  }
};

template <class T>
struct Codec<Map<T>> {
  static bool accepts(const Value& value) { return value.is_mapping(); }
  static std::string list_hint(const Node& node) { return detail::as_numbered(node.value()); }
  static void read(const Node& node, Map<T>& out) {
    out = {};
    if (!node.value().is_mapping()) {
      const std::string hint = list_hint(node);
      return node.wrong("a mapping", hint.empty() ? detail::advice_on_value(node) : hint);
    }
    const Rules rules = node.rules().for_items();
    for (const Value::Entry& entry : node.value().entries()) {
      const Node value = node.key(entry, rules);
      value.remember_origin();
      Codec<T>::read(value, out.entries.emplace_back(entry.key, T{}).second);
    }
  }
  static Value show(const Map<T>& map) {
    std::vector<Value::Entry> entries;
    for (const auto& [key, value] : map.entries) entries.push_back({key, {}, Codec<T>::show(value)});
    return Value::mapping(std::move(entries));
  }
  static Schema schema(const Rules& rules) {
    Schema schema;
    schema.kind = Schema::Kind::kSection;
    schema.parts.push_back(Codec<T>::schema(rules.for_items()));
    return schema;
  }
};

}  // namespace mirrortrain::config
