#include "config/value.h"

#include <fmt/format.h>

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

namespace {

using Keys = std::vector<std::pair<std::string, std::string>>;

void add_scalars(const Value& value, const std::string& path, Keys& keys) {
  switch (value.kind()) {
    case Value::Kind::kNull: keys.emplace_back(path, "null"); break;
    case Value::Kind::kScalar: keys.emplace_back(path, value.text()); break;
    case Value::Kind::kSequence:
      for (std::size_t i = 0; i < value.items().size(); ++i) {
        add_scalars(value.items()[i], fmt::format("{}[{}]", path, i), keys);
      }
      break;
    case Value::Kind::kMapping:
      for (const Value::Entry& entry : value.entries()) {
        add_scalars(entry.value, path.empty() ? entry.key : path + "." + entry.key, keys);
      }
      break;
  }
}

}  // namespace

std::vector<std::pair<std::string, std::string>> flatten(const Value& value) {
  Keys keys;
  add_scalars(value, "", keys);
  return keys;
}

}  // namespace mirrortrain::config
