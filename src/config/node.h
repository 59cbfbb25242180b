#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "config/errors.h"
#include "config/rules.h"
#include "config/schema.h"
#include "config/value.h"

namespace mirrortrain::config {

/// "drawing.shapes" for "drawing" and "shapes".
std::string joined(std::string path, std::string_view key);

/// A file or folder that a configuration names.
struct NamedFile {
  std::string file;  ///< absolute
  Place place;
  std::string path;  ///< the key's
};

/// The whole document's schema, for suggestions; made when it is first asked for.
class RootSchema {
 public:
  RootSchema() = default;
  explicit RootSchema(std::function<Schema()> make) : make_(std::move(make)) {}

  /// Null where there is none.
  const Schema* get();
  /// "; write width and height" for a key that other programs have, or "".
  std::string advice_on_key(std::string_view name);

 private:
  std::function<Schema()> make_;
  std::optional<Schema> schema_;
  std::vector<Advice> advice_;
};

/// State shared while reading a document.
struct Reading {
  Errors& errors;
  /// Where each key of the resolved configuration came from, by its path there.
  std::unordered_map<std::string, Place>& origins;
  /// The names of list items that `--set` replaced, by path.
  const std::map<std::string, std::string>& replaced;
  /// The files and folders that the document names are added here, unless null.
  std::vector<NamedFile>* files = nullptr;
  RootSchema root = {};
};

/// A value that is being read, with its path and rules. Lives on the stack while the tree is walked.
class Node {
 public:
  /// The root: keys missing in it are reported at its own place.
  Node(const Value& value, Reading& reading) : value_(&value), section_place_(&value.place()), reading_(&reading) {}

  Node key(const Value::Entry& entry, const Rules& rules) const;
  /// A key that was not given: null; its errors are reported at the section.
  Node absent_key(std::string_view name, const Rules& rules) const;
  Node item(std::size_t index, const Rules& rules) const;
  /// The options of a choice, which belong to this value: at `name` in the path where `named`, also in the resolved
  /// configuration where `shown`.
  Node options(const Value& options, const Place& place, std::string_view name, bool shown) const;

  /// This node with another value in place of its own.
  Node with_value(const Value& value) const;

  /// This value with the same rules but separate errors and origins, to test whether it is valid.
  Node on_trial(Reading& reading) const;

  /// This node, with `tag` not counted among its keys.
  Node without(std::string_view tag) const;

  const Value& value() const { return *value_; }
  const Rules& rules() const { return *rules_; }
  Reading& reading() const { return *reading_; }
  Errors& errors() const { return reading_->errors; }
  /// The key of this mapping that chose its type and is not an option.
  std::string_view tag() const { return tag_; }

  /// Where keys missing in this value are reported: at the key whose value it is.
  const Place& section_place() const { return *section_place_; }
  /// As written: "shapes[2].circle".
  std::string path() const { return path(false); }
  /// The key whose value this is; empty for the root and a list's items.
  std::string_view name() const { return name_; }
  /// name(), or for a list's item the list's name().
  std::string_view key_name() const { return index_ != kNoIndex && parent_ != nullptr ? parent_->key_name() : name_; }
  /// In the resolved configuration.
  std::string shown_path() const { return path(true); }

  /// Adds "expected EXPECTED, found ..." at the value; `hint` follows after a semicolon where not empty.
  void wrong(std::string_view expected, std::string_view hint = "") const;
  /// Adds an error at the value.
  void error(std::string message) const;
  /// Adds an error at another place; `below` is appended to the path as a key where not empty.
  void error(const Place& place, std::string_view below, std::string message) const;
  /// Remembers where this value came from, for `show`.
  void remember_origin() const;

 private:
  Node(const Value* value, const Node& parent, const Place* section_place, std::string_view name)
      : value_(value), parent_(&parent), section_place_(section_place), name_(name), reading_(parent.reading_) {}
  std::string path(bool shown) const;

  static const Rules kNoRules;
  static constexpr std::size_t kNoIndex = static_cast<std::size_t>(-1);

  const Value* value_;
  const Node* parent_ = nullptr;
  const Place* section_place_;
  std::string_view name_;
  std::size_t index_ = kNoIndex;
  bool shown_ = true;
  std::string_view tag_;
  const Rules* rules_ = &kNoRules;
  Reading* reading_;
};

}  // namespace mirrortrain::config
