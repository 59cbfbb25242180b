#include "config/without_defaults.h"

#include <algorithm>

#include "config/scalar.h"

namespace mirrortrain::config {
namespace {

/// The alternative of a choice that a mapping names, by its tag or its only key; null where it names none.
const Schema* named_part(const Value& value, const Schema& choice) {
  const Value::Entry* const tag = choice.tag.empty() ? nullptr : value.find(choice.tag);
  const bool has_name = tag != nullptr || (choice.tag.empty() && value.entries().size() == 1);
  if (!has_name) return nullptr;
  const std::string name = tag != nullptr ? as_text(tag->value).value_or("") : value.entries().front().key;
  const auto found = std::ranges::find(choice.parts, name, &Schema::name);
  return found != choice.parts.end() && !name.empty() ? &*found : nullptr;
}

Value section_without(const Value& value, const Schema& section) {
  std::vector<Value::Entry> kept;
  for (const Value::Entry& entry : value.entries()) {
    const auto key = std::ranges::find(section.keys, entry.key, &Schema::Key::name);
    if (key == section.keys.end()) {
      kept.push_back(entry);  // the tag of a choice
    } else if (key->required || !same(entry.value, key->standard)) {
      kept.push_back({entry.key, entry.key_place, without_defaults(entry.value, key->type)});
    }
  }
  return Value::mapping(std::move(kept), value.place());
}

Value choice_without(const Value& value, const Schema& choice) {
  if (value.is_mapping()) {
    if (const Schema* const part = named_part(value, choice)) {
      if (!choice.tag.empty()) return section_without(value, *part);
      const Value::Entry& only = value.entries().front();
      Value options = without_defaults(only.value, *part);
      if (options.is_mapping() && options.entries().empty()) return text_value(only.key);
      return Value::mapping({{only.key, only.key_place, std::move(options)}}, value.place());
    }
  }
  const auto kind = value.is_mapping() ? Schema::Kind::kSection : Schema::Kind::kList;
  const auto plain =
      std::ranges::find_if(choice.parts, [&](const Schema& part) { return part.name.empty() && part.kind == kind; });
  return plain != choice.parts.end() ? without_defaults(value, *plain) : value;
}

/// Whether a mapping is one from names to values of the schema.
bool is_by_name(const Value& mapping, const Schema& schema) {
  return schema.by_name && (schema.kind != Schema::Kind::kChoice || mapping.find(schema.tag) == nullptr);
}

}  // namespace

Value without_defaults(const Value& value, const Schema& schema) {
  if (value.is_null() || value.is_scalar()) return value;
  if (value.is_mapping() && is_by_name(value, schema)) {
    Schema one = schema;
    one.by_name = false;
    std::vector<Value::Entry> entries;
    for (const Value::Entry& entry : value.entries()) {
      entries.push_back({entry.key, entry.key_place, without_defaults(entry.value, one)});
    }
    return Value::mapping(std::move(entries), value.place());
  }
  if (value.is_sequence() && schema.or_list) {
    std::vector<Value> items;
    for (const Value& item : value.items()) items.push_back(without_defaults(item, schema));
    return Value::sequence(std::move(items), value.place());
  }
  switch (schema.kind) {
    case Schema::Kind::kSection: return value.is_mapping() ? section_without(value, schema) : value;
    case Schema::Kind::kEither: return without_defaults(value, schema.parts[0]);
    case Schema::Kind::kChoice: return choice_without(value, schema);
    case Schema::Kind::kList: break;
    default: return value;
  }
  if (!value.is_sequence()) return value;
  std::vector<Value> items;
  for (const Value& item : value.items()) items.push_back(without_defaults(item, schema.parts[0]));
  return Value::sequence(std::move(items), value.place());
}

bool same(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Value::Kind::kNull: return true;
    case Value::Kind::kScalar: return a.text() == b.text() && meaning_of(a) == meaning_of(b);
    case Value::Kind::kSequence: return std::ranges::equal(a.items(), b.items(), same);
    case Value::Kind::kMapping:
      return std::ranges::equal(a.entries(), b.entries(), [](const Value::Entry& x, const Value::Entry& y) {
        return x.key == y.key && same(x.value, y.value);
      });
  }
  return false;
}

}  // namespace mirrortrain::config
