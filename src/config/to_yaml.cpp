#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "config/document.h"
#include "config/node.h"
#include "config/scalar.h"

namespace mirrortrain::config {
namespace {

bool is_plain(std::string_view text) {
  constexpr std::string_view kSafe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./";
  constexpr std::string_view kInside = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:+*-";
  if (text.empty() || kSafe.find(text[0]) == std::string_view::npos || text.back() == ':') return false;
  // YAML 1.1 parsers read these as booleans.
  for (const std::string_view word : {"yes", "no", "on", "off", "Yes", "No", "On", "Off", "y", "n", "..."}) {
    if (text == word) return false;
  }
  return text.find_first_not_of(kInside) == std::string_view::npos;
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += fmt::format("\\{}", c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string scalar_text(const Value& value) {
  const std::string& text = value.text();
  if (meaning_of(value) != Meaning::kText) return text;
  const bool plain = is_plain(text) && meaning_of(Value::scalar(text, false)) == Meaning::kText;
  return plain ? text : in_quotes(text);
}

void append_flow(std::string& out, const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kNull: out += "null"; return;
    case Value::Kind::kScalar: out += scalar_text(value); return;
    case Value::Kind::kSequence:
      out += "[";
      for (std::size_t i = 0; i < value.items().size(); ++i) {
        if (i > 0) out += ", ";
        append_flow(out, value.items()[i]);
      }
      out += "]";
      return;
    case Value::Kind::kMapping:
      out += "{";
      for (std::size_t i = 0; i < value.entries().size(); ++i) {
        if (i > 0) out += ", ";
        out += scalar_text(text_value(value.entries()[i].key)) + ": ";
        append_flow(out, value.entries()[i].value);
      }
      out += "}";
      return;
  }
}

// Whether the value fits on its key's line.
bool fits_line(const Value& value) {
  if (value.is_mapping()) return value.entries().empty();
  return !value.is_sequence() ||
         std::all_of(value.items().begin(), value.items().end(), [](const Value& item) { return fits_line(item); });
}

class YamlWriter {
 public:
  explicit YamlWriter(const std::unordered_map<std::string, Place>* origins) : origins_(origins) {}

  void mapping(const Value& value, std::string indent, const std::string& path, std::string first) {
    for (const Value::Entry& entry : value.entries()) {
      const std::string key = scalar_text(text_value(entry.key));
      below(entry.value, first + key + ":", indent, joined(path, entry.key), entry.key_place);
      first = indent;
    }
  }

  std::string text() const {
    constexpr std::size_t kCommentColumn = 48;
    std::string out;
    for (const Line& line : lines_) {
      out += line.text;
      if (!line.origin.empty()) {
        const std::size_t width = display_width(line.text);
        out.append(std::max(width + 2, kCommentColumn) - width, ' ');
        out += "# " + line.origin;
      }
      out += "\n";
    }
    return out;
  }

 private:
  struct Line {
    std::string text, origin;
  };

  // The value after `head` ("key:" or "-"), on its line or in lines below it. `written`: the place of `head`.
  void below(const Value& value, std::string head, const std::string& indent, const std::string& path,
             const Place& written) {
    if (fits_line(value)) {
      head += " ";
      append_flow(head, value);
      add(std::move(head), path, true, written);
      return;
    }
    add(std::move(head), path, false, written);
    const std::string deeper = indent + "  ";
    if (value.is_mapping()) return mapping(value, deeper, path, deeper);
    for (std::size_t i = 0; i < value.items().size(); ++i) {
      const std::string item_path = fmt::format("{}[{}]", path, i);
      const Value& item = value.items()[i];
      if (item.is_mapping() && !item.entries().empty()) {
        mapping(item, deeper + "  ", item_path, deeper + "- ");
      } else {
        below(item, deeper + "-", deeper, item_path, item.place());
      }
    }
  }

  // Values that are kept as they were written, as those that a search lists, have no key that was read; they have their
  // places themselves.
  void add(std::string text, const std::string& path, bool holds_value, const Place& written) {
    std::string origin;
    if (origins_ != nullptr) {
      const auto found = origins_->find(path);
      const Place& place = found != origins_->end() ? found->second : written;
      if (!place.given()) {
        origin = holds_value ? "default" : "";
      } else {
        origin = place.from_set() ? "--set" : fmt::format("{}:{}", *place.source, place.line);
      }
    }
    lines_.push_back({std::move(text), std::move(origin)});
  }

  const std::unordered_map<std::string, Place>* origins_;
  std::vector<Line> lines_;
};

}  // namespace

std::string to_yaml(const Value& value, const std::unordered_map<std::string, Place>* origins) {
  if (!value.is_mapping() || value.entries().empty()) {
    std::string out;
    append_flow(out, value);
    return out + "\n";
  }
  YamlWriter writer(origins);
  writer.mapping(value, "", "", "");
  return writer.text();
}

}  // namespace mirrortrain::config
