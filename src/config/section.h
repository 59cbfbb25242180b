#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/choice.h"
#include "config/rules.h"

namespace mirrortrain::config {

namespace detail {

struct Key {
  std::string name, help;
  Rules rules;
  std::function<void(const Node&, void*object)> read, absent;
  std::function<Value(const void* object)> show;
  std::function<Schema(const Rules&)> schema;
};

struct Check {
  std::string key;
  std::function<std::string(const void* object)> message;  ///< empty if valid
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
/// Adds the keys and checks of `inner`, whose object `inside` finds within the outer one.
void include_keys(Keys& outer, const Keys& inner, const std::function<void*(void*)>& inside);

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
    detail::Key key{std::string(name), std::string(help), {}, {}, {}, {}, {}};
    (constraints(key.rules), ...);
    key.read = [member](const Node& node, void* object) { Codec<T>::read(node, static_cast<S*>(object)->*member); };
    if constexpr (requires(const Node& node, T& out) { Codec<T>::absent(node, out); }) {
      key.absent = [member](const Node& node, void* object) {
        Codec<T>::absent(node, static_cast<S*>(object)->*member);
      };
    }
    key.show = [member](const void* object) { return Codec<T>::show(static_cast<const S*>(object)->*member); };
    key.schema = [](const Rules& rules) { return Codec<T>::schema(rules); };
    keys_.keys.push_back(std::move(key));
    return *this;
  }

  /// Checks the whole struct once all its keys are read; a non-empty result of `message` is an error at `key`'s value
  /// (at the section if the key is empty or not given).
  Section& check(std::string_view key, std::function<std::string(const S&)> message) {
    keys_.checks.push_back({std::string(key), [message = std::move(message)](const void* object) {
                              return message(*static_cast<const S*>(object));
                            }});
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
    detail::include_keys(keys_, Base::section().keys(),
                         [](void* object) -> void* { return static_cast<Base*>(static_cast<S*>(object)); });
    return *this;
  }

  /// The keys of a member's section, in addition to those of this section.
  template <class Owner, class Inner>
  Section& include(Inner Owner::*member) {
    detail::include_keys(keys_, Inner::section().keys(),
                         [member](void* object) -> void* { return &(static_cast<S*>(object)->*member); });
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
