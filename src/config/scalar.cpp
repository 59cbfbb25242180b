#include "config/scalar.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <system_error>

namespace mirrortrain::config {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t digits_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_digit(text[end])) ++end;
  return end - at;
}

std::string_view without_sign(std::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  return text;
}

// The base of an integer by its prefix, or 0: 0x and 0o take no sign.
int base_of(std::string_view text) {
  const auto only = [&](std::string_view allowed) {
    return text.size() > 2 && text.find_first_not_of(allowed, 2) == std::string_view::npos;
  };
  if (text.starts_with("0x")) return only("0123456789abcdefABCDEF") ? 16 : 0;
  if (text.starts_with("0o")) return only("01234567") ? 8 : 0;
  const std::string_view digits = without_sign(text);
  return !digits.empty() && digits_at(digits, 0) == digits.size() ? 10 : 0;
}

// [-+]? ( . [0-9]+ | [0-9]+ ( . [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?
bool is_decimal(std::string_view text) {
  text = without_sign(text);
  const std::size_t whole = digits_at(text, 0);
  std::size_t at = whole, fraction = 0;
  if (at < text.size() && text[at] == '.') {
    fraction = digits_at(text, at + 1);
    at += 1 + fraction;
  }
  if (whole + fraction == 0) return false;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    const std::size_t exponent = digits_at(text, at);
    if (exponent == 0) return false;
    at += exponent;
  }
  return at == text.size();
}

std::optional<double> special_number(std::string_view text) {
  if (text == ".nan" || text == ".NaN" || text == ".NAN") return std::numeric_limits<double>::quiet_NaN();
  const std::string_view word = without_sign(text);
  if (word != ".inf" && word != ".Inf" && word != ".INF") return std::nullopt;
  return text[0] == '-' ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
}

template <class T>
std::optional<T> integer(const Value& value) {
  if (meaning_of(value) != Meaning::kInteger) return std::nullopt;
  std::string_view text = value.text();
  const int base = base_of(text);
  text.remove_prefix(base != 10 ? 2 : text[0] == '+' ? 1 : 0);
  T number{};
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (result.ec != std::errc{} || result.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

template <class T>
Value shortest(T number) {
  if (std::isnan(number)) return Value::scalar(".nan", false);
  if (std::isinf(number)) return Value::scalar(number < 0 ? "-.inf" : ".inf", false);
  std::string text = fmt::format("{}", number);
  // Writes 1e-07 as 1.0e-07: YAML 1.1 parsers read the former as a text.
  const std::size_t end = std::min(text.find('e'), text.size());
  if (text.find('.') == std::string::npos) text.insert(end, ".0");
  return Value::scalar(std::move(text), false);
}

}  // namespace

Meaning meaning_of(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kNull: return Meaning::kNull;
    case Value::Kind::kSequence: return Meaning::kSequence;
    case Value::Kind::kMapping: return Meaning::kMapping;
    case Value::Kind::kScalar: break;
  }
  if (value.quoted()) return Meaning::kText;
  const std::string& text = value.text();
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return Meaning::kNull;
  if (as_boolean(value)) return Meaning::kBoolean;
  if (base_of(text) != 0) return Meaning::kInteger;
  return is_decimal(text) || special_number(text) ? Meaning::kNumber : Meaning::kText;
}

std::optional<bool> as_boolean(const Value& value) {
  if (!value.is_scalar() || value.quoted()) return std::nullopt;
  const std::string& text = value.text();
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  return std::nullopt;
}

std::optional<std::int64_t> as_integer(const Value& value) { return integer<std::int64_t>(value); }

std::optional<std::uint64_t> as_unsigned(const Value& value) { return integer<std::uint64_t>(value); }

std::optional<double> as_number(const Value& value) {
  const Meaning meaning = meaning_of(value);
  if (meaning != Meaning::kNumber && meaning != Meaning::kInteger) return std::nullopt;
  std::string_view text = value.text();
  if (meaning == Meaning::kInteger && base_of(text) != 10) {
    const auto whole = as_unsigned(value);
    return whole ? std::optional(static_cast<double>(*whole)) : std::nullopt;
  }
  if (const auto special = special_number(text)) return special;
  if (text[0] == '+') text.remove_prefix(1);
  double number = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec == std::errc::result_out_of_range) {
    // On underflow strtod's result is used; on overflow there is none.
    number = std::strtod(std::string(text).c_str(), nullptr);
    return std::abs(number) < 1 ? std::optional(number) : std::nullopt;
  }
  if (result.ec != std::errc{}) return std::nullopt;
  return number;
}

std::optional<std::string> as_text(const Value& value) {
  if (meaning_of(value) != Meaning::kText) return std::nullopt;
  return value.text();
}

Value number_value(double number) { return shortest(number); }
Value number_value(float number) { return shortest(number); }

Value text_value(std::string_view text) {
  Value plain = Value::scalar(std::string(text), false);
  return meaning_of(plain) == Meaning::kText ? plain : Value::scalar(std::string(text), true);
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  const std::size_t digits = digits_at(text, 0);
  std::uint64_t number = 0;
  if (std::from_chars(text.data(), text.data() + digits, number).ec != std::errc{} || digits == 0) return std::nullopt;
  std::string_view unit = text.substr(digits);
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  if (unit.empty() || unit == "B") return number;
  const auto power = std::string_view("KMGT").find(unit[0]);
  if (power == std::string_view::npos) return std::nullopt;
  const std::string_view rest = unit.substr(1);
  if (!rest.empty() && rest != "iB" && rest != "B") return std::nullopt;
  for (std::size_t i = 0; i <= power; ++i) {
    if (__builtin_mul_overflow(number, rest == "B" ? std::uint64_t{1000} : std::uint64_t{1024}, &number)) {
      return std::nullopt;
    }
  }
  return number;
}

std::string without_odd_characters(std::string_view text) {
  std::string plain_text;
  for (std::size_t at = 0; at < text.size();) {
    const auto [code, bytes] = first_character(text.substr(at));
    const std::size_t length = std::max<std::size_t>(bytes, 1);
    const bool is_quote = code >= 0x2018 && code <= 0x201F;
    const bool is_space = code == 0xA0 || code == 0x2007 || code == 0x202F || code == 0x3000;
    if (!is_quote && !is_space && (code < 0x80 || is_visible(code))) plain_text += text.substr(at, length);
    at += length;
  }
  return plain_text;
}

}  // namespace mirrortrain::config
