#pragma once

#include <bit>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/choice.h"
#include "config/erased_codec.h"
#include "config/rules.h"

namespace mirrortrain::config {

namespace detail {

/// A key, whose value is at `offset` bytes in the object that its section fills.
struct Key {
  std::string name, help;
  const ErasedCodec* codec = nullptr;
  std::ptrdiff_t offset = 0;
  Rules rules;

  void read(const Node& node, void* object) const { codec->read(node, static_cast<std::byte*>(object) + offset); }
  /// Reads the value that was not given, where the type has something to do then.
  void absent(const Node& node, void* object) const {
    if (codec->absent != nullptr) codec->absent(node, static_cast<std::byte*>(object) + offset);
  }
  Value show(const void* object) const { return codec->show(static_cast<const std::byte*>(object) + offset); }
  Schema schema() const { return codec->schema(rules); }
};

/// A check of the object at `offset` bytes in the one that the section fills.
struct Check {
  std::string key;
  std::ptrdiff_t offset = 0;
  std::function<std::string(const void* checked)> function;  ///< "" if valid

  std::string message(const void* object) const { return function(static_cast<const std::byte*>(object) + offset); }
};

/// The keys of a section, without its C++ type.
struct Keys {
  std::string help;
  std::vector<Key> keys;
  std::vector<Check> checks;
  std::vector<std::string> relations;  ///< JSON Schemas in addition to the keys'
  std::vector<Advice> advice;          ///< on keys that other programs have
};

void read_section(const Keys& keys, const Node& node, void* object);
std::vector<Name> names_of(const Keys& keys);
bool accepts_section(const Keys& keys, const Value& value);
Value show_section(const Keys& keys, const void* object);
/// `standard` is an object with the defaults.
Schema section_schema(const Keys& keys, const Name& name, const void* standard);
/// Adds a key, and returns its rules, which have no constraints yet.
Rules& add_key(Keys& keys, std::string_view name, std::string_view help, const ErasedCodec& codec,
               std::ptrdiff_t offset);
void add_check(Keys& keys, std::string_view key, std::function<std::string(const void*)> function);
/// Adds the keys and checks of `inner`, whose object is at `offset` bytes in the outer one.
void include_keys(Keys& outer, const Keys& inner, std::ptrdiff_t offset);

/// Where a member is in an object of the class, in bytes: what a pointer to a data member is made of.
template <class S, class Owner, class T>
std::ptrdiff_t offset_of(T Owner::*member) {
  T S::*const within = member;
  static_assert(sizeof(within) == sizeof(std::ptrdiff_t));
  return std::bit_cast<std::ptrdiff_t>(within);
}

/// Where a base is in an object of the class. No object is needed: a pointer to its place may be converted to a base
/// that is not virtual.
template <class S, class Base>
std::ptrdiff_t offset_of_base() {
  alignas(S) std::byte place[sizeof(S)];
  return reinterpret_cast<std::byte*>(static_cast<Base*>(reinterpret_cast<S*>(place))) - place;
}

}  // namespace detail

/// The keys of an option struct, declared once next to what they configure:
///
///   struct Circle {
///     static constexpr std::string_view kName = "circle";
///     double radius = 1, line_width = 0.0;
///     bool dashed = false;
///     static config::Section<Circle> section() {
///       return config::Section<Circle>("A circle around the middle.")
///           .key("radius", &Circle::radius, "The radius.", config::at_least(0), config::aliases("r"))
///           .key("line_width", &Circle::line_width, "Width of the line.", config::between(0, 1))
///           .key("dashed", &Circle::dashed, "Whether the line is dashed.")
///           .check("dashed", [](const Circle& circle) -> std::string {
///             return circle.dashed && circle.line_width == 0 ? "needs a line_width above 0" : "";
///           });
///     }
///   };
///
/// The defaults are the struct's. Reader, schema, `config show` and the reference use the declaration.
template <class S>
class Section {
 public:
  explicit Section(std::string_view help) { keys_.help = help; }

  /// A key whose value goes to `member`, with constraints from rules.h.
  template <class Owner, class T, class... Constraints>
  Section& key(std::string_view name, T Owner::*member, std::string_view help, const Constraints&... constraints) {
    Rules& rules = detail::add_key(keys_, name, help, detail::kErasedCodec<T>, detail::offset_of<S>(member));
    (constraints(rules), ...);
    return *this;
  }

  /// Checks the whole struct once all its keys are read; a non-empty result of `message` is an error at `key`'s value
  /// (at the section if the key is empty or not given).
  template <class Message>
  Section& check(std::string_view key, Message message) {
    detail::add_check(keys_, key, [message = std::move(message)](const void* object) -> std::string {
      return message(*static_cast<const S*>(object));
    });
    return *this;
  }

  /// A check's condition as a JSON Schema, for editors.
  Section& relation(std::string json) {
    keys_.relations.push_back(std::move(json));
    return *this;
  }

  /// What to write in place of keys of other programs, which this section stands for: advice("area, surface", "write
  /// width and height"). It counts wherever in the document such a key is written, and for such values in place of the
  /// section: see config::advice.
  Section& advice(std::string_view names, std::string_view text) {
    keys_.advice.push_back({names, text});
    return *this;
  }

  /// The keys of a base class, in addition to those of this section.
  template <class Base>
  Section& include() {
    detail::include_keys(keys_, Base::section().keys(), detail::offset_of_base<S, Base>());
    return *this;
  }

  /// The keys of a member's section, in addition to those of this section.
  template <class Owner, class Inner>
  Section& include(Inner Owner::*member) {
    detail::include_keys(keys_, Inner::section().keys(), detail::offset_of<S>(member));
    return *this;
  }

  const detail::Keys& keys() const { return keys_; }

 private:
  detail::Keys keys_;
};

template <class T>
concept OptionStruct = requires {
  { T::section() } -> std::same_as<Section<T>>;
};

template <OptionStruct T>
struct Codec<T> {
  static const detail::Keys& keys() {
    static const Section<T> section = T::section();
    return section.keys();
  }
  static bool accepts(const Value& value) { return detail::accepts_section(keys(), value); }
  static void read(const Node& node, T& out) { detail::read_section(keys(), node, &out); }
  /// A section that was not given is read as an empty one: its required keys are reported as missing.
  static void absent(const Node& node, T& out) { detail::read_section(keys(), node, &out); }
  static Value show(const T& value) { return detail::show_section(keys(), &value); }
  static Schema schema(const Rules&) {
    const T standard{};
    const Name name{std::string(detail::name_of_alternative<T>()), detail::aliases_of_alternative<T>()};
    return detail::section_schema(keys(), name, &standard);
  }
};

/// The names of a section's keys.
template <OptionStruct T>
std::vector<Name> names_of_keys() {
  return detail::names_of(Codec<T>::keys());
}

}  // namespace mirrortrain::config
