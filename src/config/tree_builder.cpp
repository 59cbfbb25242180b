#include "config/tree_builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "config/node.h"
#include "config/scalar.h"

namespace mirrortrain::config {
namespace {

// Limit of the texts after aliases are expanded; without aliases a file's size is the limit.
constexpr std::size_t kMostExpandedBytes = 4 * kMostBytes;

// An escape (`"\u0090"`) can produce characters that the file itself must not contain.
bool holds_control(std::string_view text) {
  while (!text.empty()) {
    const auto [code, bytes] = first_character(text);
    if (bytes > 0 && code != '\t' && code != '\n' && is_control(code)) return true;
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return false;
}

/// "(3", the beginning of a list in Python's form, which the readers of numbers answer.
bool is_tuple_of_numbers(std::string_view text) {
  return text.starts_with('(') && text.find_first_not_of("(0123456789.-+, ") == std::string_view::npos;
}

}  // namespace

Place TreeBuilder::at(const Mark& mark) const {
  return source_.at(static_cast<std::uint32_t>(std::max(mark.line, 0)) + 1,
                    static_cast<std::uint32_t>(std::max(mark.column, 0)) + 1);
}

void TreeBuilder::check_tag(const Mark& mark, const std::string& tag) const {
  if (tag.empty() || tag == "?" || tag == "!") return;
  constexpr std::string_view kStandard = "tag:yaml.org,2002:";
  const std::string written = tag.starts_with(kStandard) ? "!!" + tag.substr(kStandard.size()) : tag;
  throw Refused{at(mark), fmt::format("YAML tags are not used here, found '{}'; leave it out", shortened(written))};
}

void TreeBuilder::count(const Place& place, const Extent& extent) {
  total_.values += extent.values;
  total_.bytes += extent.bytes;
  if (total_.values > kMostValues) {
    throw Refused{
        place, fmt::format("more than {} values, aliases expanded; put large data in a file of its own", kMostValues)};
  }
  if (total_.bytes > kMostExpandedBytes) {
    throw Refused{place, fmt::format("more than {} MiB of text, aliases expanded", kMostExpandedBytes >> 20)};
  }
  if (open_.size() + extent.levels > kMostLevels) {
    throw Refused{place, fmt::format("nested more than {} levels deep", kMostLevels)};
  }
}

void TreeBuilder::begin_document(const Mark& mark) {
  if (started_) throw Refused{at(mark), "a second YAML document; a configuration is one document"};
  started_ = true;
}

void TreeBuilder::add_null(const Mark& mark, AnchorId anchor) {
  // yaml-cpp reports an omitted value at the following token; its key is the better place.
  const auto position = static_cast<std::size_t>(std::max(mark.position, 0));
  const std::string_view here = text_.substr(std::min(position, text_.size()), 4);
  const bool written = here.starts_with('~') || here == "null" || here == "Null" || here == "NULL";
  const bool has_key = !open_.empty() && open_.back().has_key;
  const Place place = !written && has_key ? open_.back().key_place : at(mark);
  count(place, {1, 0, 0});
  if (has_key) open_.back().lacks_value = !written;
  add(Value::null(place), anchor, {1, 0, 0});
}

void TreeBuilder::add_alias(const Mark& mark, AnchorId anchor) {
  const auto found = anchors_.find(anchor);
  if (found == anchors_.end()) throw Refused{at(mark), "this alias is inside its own anchor"};
  const Anchored& anchored = found->second;
  count(at(mark), anchored.extent);
  add(anchored.value, 0, anchored.extent);
}

void TreeBuilder::add_scalar(const Mark& mark, const std::string& tag, AnchorId anchor, const std::string& text) {
  check_tag(mark, tag);
  if (holds_control(text)) {
    throw Refused{at(mark), fmt::format("the text '{}' holds a control character", shortened(text))};
  }
  const Extent extent{1, text.size(), 0};
  count(at(mark), extent);
  add(Value::scalar(tag == "!" ? text : without_curly_quotes(mark, text), tag == "!", at(mark)), anchor, extent);
}

std::string TreeBuilder::without_curly_quotes(const Mark& mark, const std::string& text) {
  const std::string inside = without_odd_characters(text);
  const char32_t first = first_character(text).code;
  if (first < 0x2018 || first > 0x201F || inside.empty()) return text;
  const bool is_value = !open_.empty() && open_.back().has_key;
  errors_.add(
      at(mark), is_value ? path(open_.back().key) : "",
      fmt::format("curly quotes would belong to the text; write \"{}\", with straight ones", shortened(inside)));
  return inside;
}

void TreeBuilder::begin_sequence(const Mark& mark, const std::string& tag, AnchorId anchor) {
  check_tag(mark, tag);
  open(Value::sequence({}, at(mark)), anchor);
}

void TreeBuilder::begin_mapping(const Mark& mark, const std::string& tag, AnchorId anchor, bool is_in_braces) {
  check_tag(mark, tag);
  open(Value::mapping({}, at(mark)), anchor);
  open_.back().is_in_braces = is_in_braces;
}

void TreeBuilder::open(Value container, AnchorId anchor) {
  count(container.place(), {1, 0, 1});
  Open opened;
  opened.container = std::move(container);
  opened.anchor = anchor;
  opened.extent = {1, 0, 1};
  open_.push_back(std::move(opened));
}

void TreeBuilder::close() {
  if (!open_.back().cut.empty()) report_cut_texts(open_.back());
  Open closed = std::move(open_.back());
  open_.pop_back();
  if (!closed.merged.empty()) merge(closed);
  add(std::move(closed.container), closed.anchor, closed.extent);
}

void TreeBuilder::add(Value value, AnchorId anchor, const Extent& extent) {
  if (anchor != 0) {
    // Nested anchors are stored once for each level, so they have their own limit.
    anchored_values_ += extent.values;
    if (anchored_values_ > 2 * kMostValues) throw Refused{value.place(), "too many values below nested anchors"};
    anchors_[anchor] = {value, extent};
  }
  if (open_.empty()) {
    root_ = std::move(value);
    return;
  }
  Open& parent = open_.back();
  parent.extent.values += extent.values;
  parent.extent.bytes += extent.bytes;
  parent.extent.levels = std::max(parent.extent.levels, extent.levels + 1);
  if (parent.container.is_sequence()) {
    parent.container.items().push_back(std::move(value));
  } else if (parent.has_key) {
    parent.has_key = false;
    add_entry(parent, std::move(value));
  } else {
    set_key(value);
  }
}

void TreeBuilder::set_key(const Value& value) {
  if (!value.is_scalar()) {
    const std::string found = value.is_null() ? "none; check the brackets and the indentation" : describe(value);
    throw Refused{value.place(), fmt::format("expected a key, found {}", found)};
  }
  Open& mapping = open_.back();
  mapping.key = value.text();
  mapping.key_is_plain = !value.quoted();
  mapping.key_place = value.place();
  mapping.has_key = true;
}

/// In braces a comma ends a text: {formula: max(x, 0)} has the text `max(x` and the key `0)` without a value. Joins
/// such a key to the text again.
bool TreeBuilder::joins_cut_text(Open& mapping) {
  if (!mapping.is_in_braces || !mapping.lacks_value || !mapping.key_is_plain) return false;
  if (mapping.container.entries().empty()) return false;
  Value& before = mapping.container.entries().back().value;
  const bool is_open = before.is_scalar() && !before.quoted() &&
                       std::ranges::count(before.text(), '(') > std::ranges::count(before.text(), ')');
  if (!is_open || is_tuple_of_numbers(before.text())) return false;
  mapping.cut.emplace(mapping.container.entries().size() - 1, before.text());
  before = Value::scalar(fmt::format("{}, {}", before.text(), mapping.key), false, before.place());
  return true;
}

void TreeBuilder::report_cut_texts(Open& mapping) {
  for (const auto& [number, cut] : mapping.cut) {
    Value::Entry& entry = mapping.container.entries()[number];
    errors_.add(entry.value.place(), path(entry.key),
                fmt::format("a comma ends a text in braces, so that this one is '{}'; put it in quotes: {}: \"{}\"",
                            shortened(cut), entry.key, shortened(entry.value.text(), 200)));
    entry.value = std::move(entry.value).reported();
  }
}

void TreeBuilder::add_entry(Open& mapping, Value value) {
  const bool is_rest = joins_cut_text(mapping);
  mapping.lacks_value = false;
  if (is_rest) return;
  if (mapping.key == "<<" && mapping.key_is_plain) return add_merge(mapping, std::move(value));
  const auto [first, is_new] = mapping.lines.emplace(mapping.key, mapping.key_place.line);
  if (is_new) {
    mapping.container.entries().push_back({std::move(mapping.key), mapping.key_place, std::move(value)});
  } else if (!errors_.full()) {
    errors_.add(
        mapping.key_place, path(mapping.key),
        source_.is_file ? fmt::format("duplicate key; the first is in line {}", first->second) : "duplicate key");
  }
}

void TreeBuilder::add_merge(Open& mapping, Value value) {
  std::vector<Value> sources = value.is_sequence() ? std::move(value.items()) : std::vector<Value>{value};
  for (Value& source : sources) {
    if (!source.is_mapping()) {
      throw Refused{mapping.key_place,
                    fmt::format("'<<' merges a mapping or a list of mappings, found {}", describe(source))};
    }
    mapping.merged.push_back(std::move(source));
  }
}

// The mapping's own keys win, then those merged first.
void TreeBuilder::merge(Open& mapping) {
  for (Value& source : mapping.merged) {
    for (Value::Entry& entry : source.entries()) {
      if (mapping.lines.emplace(entry.key, 0).second) mapping.container.entries().push_back(std::move(entry));
    }
  }
}

std::string TreeBuilder::path(std::string_view below) const {
  std::string path = source_.path;
  for (const Open& open : open_) {
    if (open.container.is_sequence()) {
      path += fmt::format("[{}]", open.container.items().size());
    } else {
      path = joined(std::move(path), &open == &open_.back() ? below : std::string_view(open.key));
    }
  }
  return path;
}

}  // namespace mirrortrain::config
