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
  Rules rules;                     ///< of integers, numbers, texts and lists
  bool is_unsigned = false;        ///< of an integer
  std::vector<std::string> names;  ///< of kNames
  std::vector<Schema>
      parts;  ///< of kList the item; of kEither and kChoice the alternatives; a choice's named ones are sections
  std::optional<std::size_t> length;   ///< of a list whose length is fixed
  std::string pattern;                 ///< of a text: an ECMA-262 expression that it matches
  std::string name;                    ///< of a section within a choice: `adam`
  std::string tag;                     ///< of kChoice: `type`, or empty where `name: {...}` is the only form
  std::string noun;                    ///< of kChoice: "an optimizer"
  std::string help;                    ///< of a section
  std::vector<Key> keys;               ///< of a section
  std::vector<std::string> relations;  ///< of a section: JSON Schemas that hold beside its keys'
  bool by_name = false;                ///< whether a mapping from names to such values is accepted as well
};

struct Schema::Key {
  std::string name, help;
  bool required = false;
  Schema type;
  Value standard;  ///< the default
  std::optional<Rules::Exemption> exemption{};
  std::string excludes{};
};

/// "an integer of at least 1", "a number or a schedule", "one of relu, elu".
std::string in_words(const Schema& schema);

/// "an optimizer" without its article: "optimizer".
std::string without_article(std::string_view noun);

/// "training.epochs" for "num_epochs": the path of the key that a name refers to in the sections below `root`.
/// `of_some_types`: also a key that only some of a section's types have, such as `loss.alpha`.
std::optional<std::string> key_elsewhere(std::string_view name, const Schema& root, bool of_some_types);

/// "; it belongs in the list callbacks: - early_stopping" for the name of an item of a list somewhere below `root`, or
/// of a callback's key; "" for others.
std::string item_elsewhere(std::string_view name, const Schema& root);

/// The JSON Schema (draft 2020-12) of a configuration whose root is this section, for editors.
std::string json_schema(const Schema& root, std::string_view title);

/// A Markdown reference of the sections below `root`, each key with its type, default and help.
std::string reference(const Schema& root);

}  // namespace mirrortrain::config
