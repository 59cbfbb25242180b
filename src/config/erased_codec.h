#pragma once

#include <string>

#include "config/codec.h"

namespace mirrortrain::config::detail {

/// A Codec without its type. Keys and choices are read and shown through it by code that is compiled once, where a
/// template would be compiled for each of several hundred keys.
struct ErasedCodec {
  bool (*accepts)(const Value&);
  void (*read)(const Node&, void* value);
  void (*absent)(const Node&,
                 void* value);  ///< what a key without a value is read as; null where the type says nothing
  Value (*show)(const void* value);
  Schema (*schema)(const Rules&);
  std::string (*list_hint)(const Node&);  ///< "write [x]" for a value that is no list; null where the type is no list
};

template <class T>
struct Erased {
  static bool accepts(const Value& value) { return Codec<T>::accepts(value); }
  static void read(const Node& node, void* value) { Codec<T>::read(node, *static_cast<T*>(value)); }
  static void absent(const Node& node, void* value) { Codec<T>::absent(node, *static_cast<T*>(value)); }
  static Value show(const void* value) { return Codec<T>::show(*static_cast<const T*>(value)); }
  static Schema schema(const Rules& rules) { return Codec<T>::schema(rules); }
  static std::string list_hint(const Node& node) { return Codec<T>::list_hint(node); }
};

template <class T>
constexpr ErasedCodec erased_codec() {
  ErasedCodec codec{&Erased<T>::accepts, &Erased<T>::read, nullptr, &Erased<T>::show, &Erased<T>::schema, nullptr};
  if constexpr (requires(const Node& node, T& out) { Codec<T>::absent(node, out); }) codec.absent = &Erased<T>::absent;
  if constexpr (requires(const Node& node) { Codec<T>::list_hint(node); }) codec.list_hint = &Erased<T>::list_hint;
  return codec;
}

template <class T>
inline constexpr ErasedCodec kErasedCodec = erased_codec<T>();

}  // namespace mirrortrain::config::detail
