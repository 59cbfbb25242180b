#pragma once

#include <vector>

#include "config/containers.h"

namespace mirrortrain::config {

/// One value, or a list of them: `shape: circle`, or `shape: [circle, {type: square}]`.
template <class T>
struct OneOrMore {
  std::vector<T> all = std::vector<T>(1);  ///< by default one
  bool is_list = false;
};

template <class T>
struct Codec<OneOrMore<T>> {
  static bool accepts(const Value& value) { return value.is_sequence() || Codec<T>::accepts(value); }
  static void read(const Node& node, OneOrMore<T>& out) {
    out = {{}, node.value().is_sequence()};
    if (out.is_list) return Codec<std::vector<T>>::read(node, out.all);
    Codec<T>::read(node, out.all.emplace_back());
  }
  static Value show(const OneOrMore<T>& value) {
    return value.is_list ? Codec<std::vector<T>>::show(value.all) : Codec<T>::show(value.all.front());
  }
  static Schema schema(const Rules& rules) {
    Schema schema = Codec<T>::schema(rules);
    schema.or_list = true;
    return schema;
  }
};

}  // namespace mirrortrain::config
