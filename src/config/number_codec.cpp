#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "base/utf8.h"
#include "config/codec.h"

namespace mirrortrain::config::detail {
namespace {

void check_bounds(const Node& node, Schema::Kind kind, double number) {
  const std::optional<double>& high = node.rules().high;
  if (high && number > *high && *high >= static_cast<double>(std::numeric_limits<float>::max())) {
    return node.wrong(fmt::format("a number of at most {:g}", *high));  // which is said of nothing else
  }
  if (!within(node.rules(), number)) node.wrong(words(kind, node), advice_on_value(node));
}

bool is_number(const std::string& text, NumberKind kind) {
  const Meaning plain = meaning_of(Value::scalar(text, false));
  return plain == Meaning::kInteger || (plain == Meaning::kNumber && kind == NumberKind::kAny);
}

/// "1,000,000" as "1000000"; "" if the commas are not thousands separators.
std::string without_thousands(const std::string& text) {
  std::size_t comma = text.find(',');
  if (comma == 0 || comma == std::string::npos || comma > 3) return "";
  for (; comma < text.size(); comma += 4) {
    if (text[comma] != ',' || text.size() < comma + 4) return "";
  }
  std::string plain = text;
  std::erase(plain, ',');
  return plain;
}

/// "1/100" or "10%".
std::optional<double> quotient_of(const std::string& text) {
  const std::size_t slash = text.find('/');
  const bool is_percent = text.ends_with('%');
  if (slash == std::string::npos && !is_percent) return std::nullopt;
  const auto number = [](std::string_view part) {
    return as_number(Value::scalar(std::string(without_outer_spaces(part)), false));
  };
  const auto above = number(text.substr(0, is_percent ? text.size() - 1 : slash));
  const auto below = is_percent ? std::optional(100.0) : number(text.substr(slash + 1));
  if (!above || !below || *below == 0) return std::nullopt;
  return *above / *below;
}

// Reports why the value is not an integer; `low` and `high` are the type's.
void wrong_integer(const Node& node, std::string_view low, std::string_view high) {
  const std::string expected = words(Schema::Kind::kInteger, node);
  if (const std::string advice = advice_on_value(node); !advice.empty()) return node.wrong(expected, advice);
  if (meaning_of(node.value()) == Meaning::kInteger)
    return node.wrong(fmt::format("an integer from {} to {}", low, high));
  const auto number = as_number(node.value());
  if (number && std::abs(*number) < 1e15 && *number == std::floor(*number)) {
    return node.wrong(expected, fmt::format("write {}", static_cast<std::int64_t>(*number)));
  }
  node.wrong(expected, number_hint(node.value(), NumberKind::kInteger));
}

}  // namespace

bool within(const Rules& rules, double number) {
  if (rules.low && (rules.above_low ? !(number > *rules.low) : !(number >= *rules.low))) return false;
  return !rules.high || (rules.below_high ? number < *rules.high : number <= *rules.high);
}

std::string advice_on_value(const Node& node, std::span<const Advice> of_type) {
  const Value& value = node.value();
  const std::string text = value.is_null()       ? "null"
                           : value.is_mapping()  ? "a mapping"
                           : value.is_sequence() ? "a list"
                                                 : value.text();
  std::string advice = advice_on(text, node.rules().advice);
  if (advice.empty()) advice = advice_on(text, of_type);
  if (advice.empty() && as_number(value)) advice = advice_on("a number", node.rules().advice);
  if (advice.empty() && as_number(value)) advice = advice_on("a number", of_type);
  return advice.empty() ? "" : advice.substr(2);  // "; "
}

std::optional<double> number_meant(const Value& value) {
  if (const auto number = as_number(value)) return number;
  return value.is_scalar() ? quotient_of(value.text()) : std::nullopt;
}

std::string number_hint(const Value& value, NumberKind kind) {
  if (meaning_of(value) != Meaning::kText) return "";
  if (value.filled()) return "with ${...} in it, it is a text; a number is a parameter alone, as $NAME";
  const std::string text = without_odd_characters(value.text());
  if (value.quoted() && is_number(text, kind)) return "leave out the quotes";
  if (text != value.text() && is_number(text, kind))
    return fmt::format("write {}, without the characters around it", text);
  if (const std::string plain = without_thousands(text); kind == NumberKind::kInteger && is_number(plain, kind)) {
    return fmt::format("write {}, without commas", plain);
  }
  if (std::string decimal = text; std::count(text.begin(), text.end(), ',') == 1) {
    decimal[decimal.find(',')] = '.';
    if (is_number(decimal, kind)) return fmt::format("write {}, with a decimal point", decimal);
  }
  if (std::string joined = text; std::erase(joined, '_') > 0 && is_number(joined, kind)) {
    return fmt::format("write {}", joined);
  }
  const auto quotient = kind == NumberKind::kAny ? quotient_of(text) : std::nullopt;
  return quotient ? fmt::format("write {}", number_value(*quotient).text()) : "";
}

void read_boolean(const Node& node, bool& out) {
  if (const auto value = as_boolean(node.value())) {
    out = *value;
    return;
  }
  std::string hint;
  if (node.value().is_scalar()) {
    const std::string& text = node.value().text();
    constexpr std::array<std::string_view, 6> kYes = {"yes", "Yes", "on", "On", "y", "true"};
    constexpr std::array<std::string_view, 6> kNo = {"no", "No", "off", "Off", "n", "false"};
    if (std::find(kYes.begin(), kYes.end(), text) != kYes.end()) hint = "write true";
    if (std::find(kNo.begin(), kNo.end(), text) != kNo.end()) hint = "write false";
  }
  node.wrong("true or false", hint);
}

void read_integer(const Node& node, std::int64_t low, std::int64_t high, std::int64_t& out) {
  const auto value = as_integer(node.value());
  if (!value || *value < low || *value > high) return wrong_integer(node, std::to_string(low), std::to_string(high));
  check_bounds(node, Schema::Kind::kInteger, static_cast<double>(*value));
  out = *value;
}

void read_unsigned(const Node& node, std::uint64_t& out) {
  const auto value = as_unsigned(node.value());
  if (!value && as_integer(node.value())) return node.wrong("an integer of at least 0");
  if (!value) return wrong_integer(node, "0", std::to_string(std::numeric_limits<std::uint64_t>::max()));
  check_bounds(node, Schema::Kind::kInteger, static_cast<double>(*value));
  out = *value;
}

/// Whether a number is a bound that is not allowed itself.
bool is_on_open_bound(const Rules& rules, double number) {
  return (rules.above_low && rules.low && number <= *rules.low) ||
         (rules.below_high && rules.high && number >= *rules.high);
}

void read_number(const Node& node, bool single, double& out) {
  const Meaning meaning = meaning_of(node.value());
  if (meaning != Meaning::kNumber && meaning != Meaning::kInteger) {
    return node.wrong(words(Schema::Kind::kNumber, node), number_hint(node.value()));
  }
  const auto value = as_number(node.value());
  const bool written_finite = node.value().text().find_first_of("0123456789") != std::string::npos;
  // Whatever is computed with it is float32 in the end.
  constexpr double limit = std::numeric_limits<float>::max();
  if (!value || (written_finite && std::abs(*value) > limit)) {
    return node.wrong(fmt::format("a number of magnitude at most {:g}", limit));
  }
  if (!written_finite && !node.rules().allow_infinite) return node.wrong("a finite number");
  const auto kept = static_cast<double>(static_cast<float>(*value));
  const bool leaves = single ? !within(node.rules(), kept) : is_on_open_bound(node.rules(), kept);
  if (within(node.rules(), *value) && leaves) {
    return node.wrong(words(Schema::Kind::kNumber, node), fmt::format("as float32 it is {:g}", kept));
  }
  check_bounds(node, Schema::Kind::kNumber, *value);
  out = *value;
}

void read_size(const Node& node, Size& out) {
  const auto bytes = node.value().is_scalar() ? parse_size(node.value().text()) : std::nullopt;
  if (!bytes) return node.wrong(words(Schema::Kind::kSize, node));
  check_bounds(node, Schema::Kind::kSize, static_cast<double>(*bytes));
  out.bytes = *bytes;
}

}  // namespace mirrortrain::config::detail
