#include "config/node.h"

#include <fmt/format.h>

#include "config/scalar.h"

namespace mirrortrain::config {

const Rules Node::kNoRules;

const Schema* RootSchema::get() {
  if (!schema_ && make_) {
    schema_ = make_();
    advice_ = advice_on_keys(*schema_);
  }
  return schema_ ? &*schema_ : nullptr;
}

std::string RootSchema::advice_on_key(std::string_view name) {
  return get() != nullptr ? advice_on(name, advice_) : "";
}

std::string joined(std::string path, std::string_view key) {
  if (!path.empty()) path += ".";
  return path + shortened(key);
}

Node Node::key(const Value::Entry& entry, const Rules& rules) const {
  Node node(&entry.value, *this, &entry.key_place, entry.key);
  node.rules_ = &rules;
  return node;
}

Node Node::absent_key(std::string_view name, const Rules& rules) const {
  static const Value null;
  Node node(&null, *this, section_place_, name);
  node.rules_ = &rules;
  return node;
}

Node Node::item(std::size_t index, const Rules& rules) const {
  const Value& item = value_->items()[index];
  Node node(&item, *this, &item.place(), {});
  node.index_ = index;
  node.rules_ = &rules;
  return node;
}

Node Node::options(const Value& options, const Place& place, std::string_view name, bool shown) const {
  Node node(&options, *this, &place, name);
  node.shown_ = shown;
  return node;
}

Node Node::without(std::string_view tag) const {
  Node node = *this;
  node.tag_ = tag;
  return node;
}

Node Node::on_trial(Reading& reading) const {
  Node node(*value_, reading);
  node.rules_ = rules_;
  return node;
}

Node Node::with_value(const Value& value) const {
  Node node = *this;
  node.value_ = &value;
  return node;
}

std::string Node::path(bool shown) const {
  if (parent_ == nullptr) return "";
  std::string path = parent_->path(shown);
  if (index_ != kNoIndex) return fmt::format("{}[{}]", path, index_);
  return name_.empty() || (shown && !shown_) ? path : joined(std::move(path), name_);
}

void Node::wrong(std::string_view expected, std::string_view hint) const {
  error(fmt::format("expected {}, found {}{}{}", expected, describe(*value_), hint.empty() ? "" : "; ", hint));
}

void Node::error(std::string message) const { error(value_->place(), "", std::move(message)); }

void Node::error(const Place& place, std::string_view below, std::string message) const {
  std::string at = below.empty() ? path() : joined(path(), below);
  if (value_->is_reported()) return errors().note_reported(std::move(at));
  errors().add(place, std::move(at), std::move(message));
}

void Node::remember_origin() const {
  reading_->origins[shown_path()] = value_->place().from_set() ? value_->place() : section_place();
}

}  // namespace mirrortrain::config
