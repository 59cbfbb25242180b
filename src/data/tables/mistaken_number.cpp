#include "data/tables/mistaken_number.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>

#include "base/utf8.h"

namespace mirrortrain::data {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Whether a text is digits, with an optional sign and at most one `point` between them.
bool is_plain(std::string_view text, char point) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  const bool has_digits = std::ranges::any_of(text, is_digit);
  return has_digits && std::ranges::count(text, point) <= 1 &&
         std::ranges::all_of(text, [&](char c) { return is_digit(c) || c == point; });
}

std::string with_replaced(std::string_view text, std::string_view from, char to) {
  std::string replaced;
  for (std::size_t at; (at = text.find(from)) != text.npos; text.remove_prefix(at + from.size())) {
    replaced.append(text.substr(0, at)).push_back(to);
  }
  return replaced.append(text);
}

/// If digits are in groups of three with the same mark in between: the text without the marks.
struct Grouped {
  std::string plain;
  std::size_t groups = 0;  ///< after a mark
  char mark = 0;
  bool has_fraction = false;
};

std::optional<Grouped> grouped(std::string text, char point) {
  for (const std::string_view space :
       {"\u00a0", "\u202f", "\u2009", "\u2019"}) {  // as written by typesetting software and Excel
    text = with_replaced(text, space, space == "\u2019" ? '\'' : ' ');
  }
  const char other = point == '.' ? ',' : '.';
  for (const char mark : {other, ' ', '\'', '_'}) {
    const std::size_t fraction = std::min(text.find(point), text.size());
    const std::string whole = text.substr(0, fraction);
    std::size_t at = !whole.empty() && (whole[0] == '-' || whole[0] == '+') ? 1 : 0;
    const std::size_t first = whole.find(mark, at);
    if (first == whole.npos || first == at || first - at > 3) continue;
    Grouped found{whole.substr(0, first), 0, mark, fraction < text.size()};
    for (at = first; at < whole.size(); at += 4, ++found.groups) {
      const std::string group = whole.substr(at + 1, 3);
      if (whole[at] != mark || group.size() != 3 || !std::ranges::all_of(group, is_digit)) break;
      found.plain += group;
    }
    if (at != whole.size()) continue;
    found.plain += text.substr(fraction);
    if (is_plain(found.plain, point)) return found;
  }
  return std::nullopt;
}

std::string about_groups(const std::string& text, char point) {
  const auto found = grouped(text, point);
  if (!found) return "";
  const std::string plain = shortened(found->plain);
  if (found->mark == ',' && found->groups == 1 && !found->has_fraction) {
    return fmt::format("if its comma separates thousands, write {}; if it is a decimal comma, set `decimal: \",\"`",
                       plain);
  }
  if (found->mark == '.' && found->groups == 1 && !found->has_fraction) {
    return fmt::format(
        "if its point separates thousands, write {}; if it is a decimal point, the file's decimal is not "
        "the comma that `decimal` says: write numbers alike",
        plain);
  }
  return fmt::format("write {}, without separators of thousands", plain);
}

/// The text without a currency, a percent sign or a unit, if a number is left.
struct Stripped {
  std::string number;
  std::string_view what;
};

std::optional<Stripped> stripped(std::string_view text, char point) {
  constexpr auto kCurrencies = std::to_array<std::string_view>(
      {"$", "\u20ac", "\u00a3", "\u00a5", "\u20b9", "\u20bd", "US$", "CHF", "USD", "EUR", "GBP", "JPY", "Rs.", "Rs"});
  const auto as_number = [&](std::string_view rest) -> std::optional<std::string> {
    const std::string number(without_outer_spaces(rest));
    if (is_plain(number, point)) return number;
    const auto parts = grouped(number, point);
    return parts ? std::optional(parts->plain) : std::nullopt;
  };
  const bool is_negative = text.starts_with('-');
  const std::string_view unsigned_text = is_negative ? text.substr(1) : text;
  for (const std::string_view currency : kCurrencies) {
    std::optional<std::string> number;
    if (unsigned_text.starts_with(currency)) number = as_number(unsigned_text.substr(currency.size()));
    if (unsigned_text.ends_with(currency)) {
      number = as_number(unsigned_text.substr(0, unsigned_text.size() - currency.size()));
    }
    if (number) return Stripped{(is_negative ? "-" : "") + *number, "currency"};
  }
  if (text.ends_with('%')) {
    if (const auto number = as_number(text.substr(0, text.size() - 1))) return Stripped{*number, "percent sign"};
  }
  if (text.starts_with('(') && text.ends_with(')')) {
    if (const auto number = as_number(text.substr(1, text.size() - 2))) return Stripped{"-" + *number, "parentheses"};
  }
  const std::size_t space = text.rfind(' ');
  if (space != text.npos && std::ranges::none_of(text.substr(space), is_digit)) {
    if (const auto number = as_number(text.substr(0, space))) return Stripped{*number, "unit"};
  }
  return std::nullopt;
}

/// Numbers with other signs, spaces or bases than those that are read.
std::string about_characters(std::string_view text, char point) {
  for (const std::string_view minus : {"\u2212", "\u2013", "\u2014", "\ufe63", "\uff0d"}) {
    if (!text.starts_with(minus)) continue;
    const std::string plain = fmt::format("-{}", text.substr(minus.size()));
    if (is_plain(plain, point)) return fmt::format("write {}, with a hyphen as its sign", shortened(plain));
  }
  for (const std::string_view space : {"\u00a0", "\u202f", "\u2009", "\u200b", "\ufeff"}) {
    std::string plain = with_replaced(text, space, ' ');
    const std::string_view inside = without_outer_spaces(plain);
    if (inside.size() < text.size() && is_plain(inside, point)) {
      return fmt::format("write {}, without the no-break space at its end", shortened(inside));
    }
  }
  if (text.starts_with("0x") || text.starts_with("0X")) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
    if (error == std::errc() && end == text.data() + text.size() && text.size() > 2) {
      return fmt::format("write {}, as numbers are decimal here", value);
    }
  }
  const std::size_t colon = text.find(':');
  const bool is_time = colon != text.npos && text.size() >= colon + 3 &&
                       std::ranges::all_of(text, [](char c) { return is_digit(c) || c == ':'; });
  return is_time ? "write a time as the number of its minutes or seconds" : "";
}

}  // namespace

std::string mistaken_number(std::string_view text, char point) {
  text = without_outer_spaces(text);
  if (std::ranges::none_of(text, is_digit)) return "";
  if (const std::string about = about_characters(text, point); !about.empty()) return about;
  if (const std::string about = about_groups(std::string(text), point); !about.empty()) return about;
  if (const auto found = stripped(text, point)) {
    return fmt::format("write {}, without the {}", shortened(found->number), found->what);
  }
  if (point == ',' && is_plain(text, '.')) {
    std::string other(text);
    std::ranges::replace(other, '.', ',');
    return fmt::format(
        "numbers have a comma here, as `decimal` says, and this one has a point: write {}, or leave "
        "`decimal` out where all have points",
        shortened(other));
  }
  return "";
}

}  // namespace mirrortrain::data
