#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "config/errors.h"

namespace mirrortrain::config {

/// A configuration as it was written: null, a scalar's text, a sequence or a mapping, each with its place. The reader
/// determines a scalar's type (`3`, `true`, `circle`): see scalar.h.
class Value {
 public:
  enum class Kind : std::uint8_t { kNull, kScalar, kSequence, kMapping };
  struct Entry;

  Value();  ///< null
  Value(const Value&);
  Value(Value&&) noexcept;
  Value& operator=(const Value&);
  Value& operator=(Value&&) noexcept;
  ~Value();

  static Value null(Place place = {});
  static Value scalar(std::string text, bool quoted, Place place = {});
  static Value sequence(std::vector<Value> items, Place place = {});
  static Value mapping(std::vector<Entry> entries, Place place = {});

  Kind kind() const { return static_cast<Kind>(content_.index()); }
  bool is_null() const { return kind() == Kind::kNull; }
  bool is_scalar() const { return kind() == Kind::kScalar; }
  bool is_sequence() const { return kind() == Kind::kSequence; }
  bool is_mapping() const { return kind() == Kind::kMapping; }
  const Place& place() const { return place_; }
  void move_to(Place place) { place_ = std::move(place); }

  /// Whether its errors are already reported, so that its reader reports nothing more.
  bool is_reported() const { return reported_; }
  /// This value, marked as reported.
  Value reported() && {
    reported_ = true;
    return std::move(*this);
  }

  /// A scalar's text, without quotes; it must be one.
  const std::string& text() const { return std::get<Scalar>(content_).text; }
  bool quoted() const { return std::get<Scalar>(content_).quoted; }
  /// Whether a block's parameters were substituted in the scalar's text.
  bool filled() const { return std::get<Scalar>(content_).filled; }
  static Value filled_scalar(std::string text, bool quoted, Place place);

  /// A sequence's items; it must be one.
  const std::vector<Value>& items() const { return std::get<std::vector<Value>>(content_); }
  std::vector<Value>& items() { return std::get<std::vector<Value>>(content_); }

  /// A mapping's entries in the order written, no key twice; it must be one.
  const std::vector<Entry>& entries() const { return std::get<std::vector<Entry>>(content_); }
  std::vector<Entry>& entries() { return std::get<std::vector<Entry>>(content_); }

  /// A mapping's entry, or null.
  const Entry* find(std::string_view key) const;
  Entry* find(std::string_view key);

 private:
  struct Scalar {
    std::string text;
    bool quoted = false, filled = false;
  };
  std::variant<std::monostate, Scalar, std::vector<Value>, std::vector<Entry>> content_;
  Place place_;
  bool reported_ = false;
};

struct Value::Entry {
  std::string key;
  Place key_place;
  Value value;
};

/// Every scalar of a value with its path, in order: {"shapes[0].circle.radius", "64"}. Null is "null".
std::vector<std::pair<std::string, std::string>> flatten(const Value& value);

}  // namespace mirrortrain::config
