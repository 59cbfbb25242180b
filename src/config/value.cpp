#include "config/value.h"

#include <algorithm>

namespace mirrortrain::config {

Value::Value() = default;
Value::Value(const Value&) = default;
Value::Value(Value&&) noexcept = default;
Value& Value::operator=(const Value&) = default;
Value& Value::operator=(Value&&) noexcept = default;
Value::~Value() = default;

Value Value::null(Place place) {
  Value value;
  value.place_ = std::move(place);
  return value;
}

Value Value::scalar(std::string text, bool quoted, Place place) {
  Value value = null(std::move(place));
  value.content_ = Scalar{std::move(text), quoted, false};
  return value;
}

Value Value::filled_scalar(std::string text, bool quoted, Place place) {
  Value value = null(std::move(place));
  value.content_ = Scalar{std::move(text), quoted, true};
  return value;
}

Value Value::sequence(std::vector<Value> items, Place place) {
  Value value = null(std::move(place));
  value.content_ = std::move(items);
  return value;
}

Value Value::mapping(std::vector<Entry> entries, Place place) {
  Value value = null(std::move(place));
  value.content_ = std::move(entries);
  return value;
}

const Value::Entry* Value::find(std::string_view key) const {
  const auto found = std::find_if(entries().begin(), entries().end(), [&](const Entry& e) { return e.key == key; });
  return found == entries().end() ? nullptr : &*found;
}

Value::Entry* Value::find(std::string_view key) {
  return const_cast<Entry*>(static_cast<const Value*>(this)->find(key));
}

}  // namespace mirrortrain::config
