#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "config/scalar.h"
#include "config/schema.h"

namespace mirrortrain::config {
namespace {

/// Bounds of what a type can hold say nothing to a user.
bool is_of_type(double bound) { return std::abs(bound) >= static_cast<double>(std::numeric_limits<float>::max()); }

// " of at least 1", " between 0 and 1", " above 0 and below 1", or "".
std::string range(Rules rules) {
  if (rules.low && is_of_type(*rules.low)) rules.low.reset();
  if (rules.high && is_of_type(*rules.high)) rules.high.reset();
  const auto low = rules.low ? fmt::format("{} {}", rules.above_low ? "above" : "of at least", *rules.low) : "";
  const auto high = rules.high ? fmt::format("{} {}", rules.below_high ? "below" : "of at most", *rules.high) : "";
  if (rules.low && rules.high) {
    if (!rules.above_low && !rules.below_high) return fmt::format(" between {} and {}", *rules.low, *rules.high);
    return fmt::format(" {} and {}", low, high);
  }
  return rules.low || rules.high ? " " + low + high : "";
}

std::string list_in_words(const Schema& list) {
  const Schema& of = list.parts[0];
  if (list.length && list.rules.scalar_fills && of.kind == Schema::Kind::kList && of.length) {
    return fmt::format("{0}, or a list of {1} of them, or a list of {1} lists, each of {2} of them",
                       in_words(of.parts[0]), *list.length, *of.length);
  }
  const std::string item = in_words(of);
  if (!list.length) return fmt::format("a list, each item {}", item);
  const std::string exact = fmt::format("a list of {}, each {}", *list.length, item);
  return list.rules.scalar_fills ? fmt::format("{}, or {}", item, exact) : exact;
}

std::string choice_in_words(const Schema& choice) {
  const auto is_named = [](const Schema& part) { return !part.name.empty(); };
  const bool named = std::any_of(choice.parts.begin(), choice.parts.end(), is_named);
  if (!named && !choice.noun.empty()) return choice.noun;
  std::string text;
  for (Schema part : choice.parts) {
    if (is_named(part)) continue;
    if (named && part.kind == Schema::Kind::kSection) continue;  // the noun has it: "{fraction: ...} or a data source"
    if (named) part.rules = {};  // "a number or a shape": the range is reported once it is a number
    text += (text.empty() ? "" : " or ") + in_words(part);
  }
  if (!named) return text;
  return text + (text.empty() ? "" : " or ") + (choice.noun.empty() ? "a name" : choice.noun);
}

std::string section_in_words(const Schema& section) {
  std::string keys;
  for (const Schema::Key& key : section.keys) keys += (keys.empty() ? "" : ", ") + key.name;
  return keys.empty() ? "an empty mapping" : fmt::format("a mapping with {}", keys);
}

constexpr std::size_t kLongest = 48;

/// A text as it has to be written within brackets or braces, where a comma would end it.
std::string in_brackets(const Value& value, std::size_t limit) {
  std::string text = value.text().substr(0, limit + 1);
  const bool ends_early = text.find_first_of(",[]{}") != std::string::npos || text.find(": ") != std::string::npos ||
                          text.find(" #") != std::string::npos;
  if (!ends_early || meaning_of(value) != Meaning::kText) return text;
  const char quote = text.find('"') == std::string::npos ? '"' : '\'';
  return quote + text + quote;
}

// Stops soon after the limit, however large the value is.
void append_flow(std::string& out, const Value& value, std::size_t limit, bool is_inside = false) {
  if (out.size() > limit) return;
  switch (value.kind()) {
    case Value::Kind::kNull: out += "null"; break;
    case Value::Kind::kScalar: out += is_inside ? in_brackets(value, limit) : value.text().substr(0, limit + 1); break;
    case Value::Kind::kSequence:
      out += "[";
      for (std::size_t i = 0; i < value.items().size() && out.size() <= limit; ++i) {
        if (i > 0) out += ", ";
        append_flow(out, value.items()[i], limit, true);
      }
      out += "]";
      break;
    case Value::Kind::kMapping:
      out += "{";
      for (std::size_t i = 0; i < value.entries().size() && out.size() <= limit; ++i) {
        if (i > 0) out += ", ";
        out += value.entries()[i].key.substr(0, limit + 1) + ": ";
        append_flow(out, value.entries()[i].value, limit, true);
      }
      out += "}";
      break;
  }
}

}  // namespace

std::string flow_text(const Value& value, std::size_t limit) {
  std::string flow;
  append_flow(flow, value, limit);
  return shortened(flow, limit);
}

std::string describe(const Value& value) {
  const std::string flow = flow_text(value);
  switch (meaning_of(value)) {
    case Meaning::kNull: return "null";
    case Meaning::kBoolean: return flow;
    case Meaning::kInteger:
    case Meaning::kNumber: return "the number " + flow;
    case Meaning::kText: return "the text '" + flow + "'";
    case Meaning::kSequence: return "the list " + flow;
    case Meaning::kMapping: return "the mapping " + flow;
  }
  return flow;
}

std::string without_article(std::string_view noun) {
  // After the last one: "a number or a shape" is about shapes.
  std::size_t start = 0;
  for (const std::string_view article : {" a ", " an "}) {
    const std::size_t found = noun.rfind(article);
    if (found != std::string_view::npos) start = std::max(start, found + article.size());
  }
  if (start == 0) start = noun.starts_with("a ") ? 2 : noun.starts_with("an ") ? 3 : 0;
  return std::string(noun.substr(start));
}

std::string in_words(const Schema& schema) {
  switch (schema.kind) {
    case Schema::Kind::kAny: return "a value";
    case Schema::Kind::kNull: return "null";
    case Schema::Kind::kBoolean: return "true or false";
    case Schema::Kind::kInteger: return "an integer" + range(schema.rules);
    case Schema::Kind::kNumber: return "a number" + range(schema.rules);
    case Schema::Kind::kPath: return "a path";
    case Schema::Kind::kSize: return "a size as 1048576 or 1MiB" + range(schema.rules);
    case Schema::Kind::kNames: return fmt::format("one of {}", fmt::join(texts_of(schema.names), ", "));
    case Schema::Kind::kText:
      return schema.rules.names.empty() ? "a text" : fmt::format("one of {}", fmt::join(schema.rules.names, ", "));
    case Schema::Kind::kList: return list_in_words(schema);
    case Schema::Kind::kSection: return section_in_words(schema);
    case Schema::Kind::kEither: return in_words(schema.parts[0]) + " or null";
    case Schema::Kind::kChoice: return choice_in_words(schema);
  }
  return "";
}

}  // namespace mirrortrain::config
