#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/rules.h"
#include "config/value.h"

namespace mirrortrain::config {

/// A value's schema, collected from the declarations; error messages, the JSON Schema and the reference are generated
/// from it.
struct Schema {
  enum class Kind : std::uint8_t {
    kAny,
    kNull,
    kBoolean,
    kInteger,
    kNumber,
    kText,
    kPath,
    kSize,
    kNames,
    kList,
    kSection,
    kEither,
    kChoice
  };
  struct Key;

  Kind kind = Kind::kAny;
  Rules rules;               ///< of integers, numbers, texts and lists
  bool is_unsigned = false;  ///< of an integer
  std::vector<Name> names;   ///< of kNames
  std::vector<Schema>
      parts;  ///< of kList the item; of kEither and kChoice the alternatives; a choice's named ones are sections
  std::optional<std::size_t> length;   ///< of a list whose length is fixed
  std::string pattern;                 ///< of a text: an ECMA-262 expression that it matches
  std::string name;                    ///< of a section within a choice: `circle`
  std::string_view aliases;            ///< of that name
  std::vector<Advice> advice;          ///< of kNames on other values; of a section on keys, anywhere in the document
  std::string tag;                     ///< of kChoice: `type`, or empty where `name: {...}` is the only form
  std::string noun;                    ///< of kChoice: "a shape"
  std::string help;                    ///< of a section
  std::vector<Key> keys;               ///< of a section
  std::vector<std::string> relations;  ///< of a section: JSON Schemas that hold beside its keys'
  bool by_name = false;                ///< whether a mapping from names to such values is accepted as well
  bool or_list = false;                ///< whether a list of such values is accepted as well
};

struct Schema::Key {
  std::string name, help;
  bool required = false;
  Schema type;
  Value standard;  ///< the default
  std::optional<Rules::Exemption> exemption{};
  std::string excludes{};
  std::string_view aliases{};
};

/// "an integer of at least 1", "a number or a shape", "one of red, blue".
std::string in_words(const Schema& schema);

/// "a shape" without its article: "shape".
std::string without_article(std::string_view noun);

/// The advice of the sections anywhere below `root` on keys that other programs have.
std::vector<Advice> advice_on_keys(const Schema& root);

/// "training.epochs" for "num_epochs": the path of the key that a name refers to in the sections below `root`.
/// `of_some_types`: also a key that only some of a section's types have, such as `frame.width`.
std::optional<std::string> key_elsewhere(std::string_view name, const Schema& root, bool of_some_types);

/// "; it belongs in the list shapes: - circle" for the name of an item of a list somewhere below `root`, or
/// of a callback's key; "" for others.
std::string item_elsewhere(std::string_view name, const Schema& root);

/// Adds the sections that a key may hold: itself, or the alternatives of a tagged choice.
void add_sections(const Schema& type, std::vector<const Schema*>& sections);

/// The JSON Schema (draft 2020-12) of a configuration whose root is this section, for editors.
std::string json_schema(const Schema& root, std::string_view title);

/// A Markdown reference of the sections below `root`, each key with its type, default and help.
std::string reference(const Schema& root);

}  // namespace mirrortrain::config
