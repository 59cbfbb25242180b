#include "config/duration.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

namespace mirrortrain::config {
namespace {

struct Unit {
  char letter;
  std::int64_t milliseconds;
};
/// The longest first, the order in which they are written.
constexpr auto kUnits = std::to_array<Unit>({{'d', 86'400'000}, {'h', 3'600'000}, {'m', 60'000}, {'s', 1000}});
constexpr double kLongestDuration = 10'000.0 * 86'400'000;

/// "1-12:00:00", "2:30:00" and "90:00", as batch systems write times; nullopt for other texts.
std::optional<Duration> of_clock(std::string_view text) {
  std::int64_t total = 0, days = 0;
  if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
    const char* const end = text.data() + dash;
    if (std::from_chars(text.data(), end, days).ptr != end || days > 10'000) return std::nullopt;
    text.remove_prefix(dash + 1);
  }
  int parts = 0;
  while (true) {
    std::int64_t part = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), part);
    if (error != std::errc() || part < 0 || part > 1'000'000 || ++parts > 3) return std::nullopt;
    total = total * 60 + part;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) break;
    if (text.front() != ':') return std::nullopt;
    text.remove_prefix(1);
  }
  total = total * 1000 + days * kUnits.front().milliseconds;
  return parts > 1 && total > 0 ? std::optional(Duration{total}) : std::nullopt;
}

/// What to write instead: "write 90s" for the number 90; "" where that is not known.
std::string hint_for(const Value& value) {
  if (const auto number = as_number(value); number && *number > 0 && *number * 1000 <= kLongestDuration) {
    return fmt::format("a number needs its unit; write {:g}s", *number);
  }
  const auto text = as_text(value);
  const auto meant = text ? of_clock(*text) : std::nullopt;
  return meant ? "write " + duration_text(*meant) : "";
}

}  // namespace

std::optional<Duration> parse_duration(std::string_view text) {
  double total = 0;
  auto next = kUnits.begin();
  while (!text.empty()) {
    double number = 0;
    if (text.front() < '0' || text.front() > '9') return std::nullopt;  // no sign, no "inf"
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (error != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    while (next != kUnits.end() && !text.starts_with(next->letter)) ++next;
    if (next == kUnits.end()) return std::nullopt;
    total += number * static_cast<double>(next->milliseconds);
    text.remove_prefix(1);
    ++next;
  }
  if (!(total >= 1 && total <= kLongestDuration)) return std::nullopt;
  return Duration{std::llround(total)};
}

std::string duration_text(const Duration& duration) {
  std::string text;
  std::int64_t rest = duration.milliseconds;
  for (const auto& [letter, milliseconds] : kUnits) {
    if (letter == 's' && rest % milliseconds != 0) {
      text += fmt::format("{:g}s", static_cast<double>(rest) / 1000);
    } else if (rest >= milliseconds) {
      text += fmt::format("{}{}", rest / milliseconds, letter);
      rest %= milliseconds;
    }
  }
  return text;
}

void Codec<Duration>::read(const Node& node, Duration& out) {
  const auto duration = node.value().is_scalar() ? parse_duration(node.value().text()) : std::nullopt;
  if (!duration) return node.wrong("a duration as 90s, 30m or 2h", hint_for(node.value()));
  out = *duration;
}

Schema Codec<Duration>::schema(const Rules& rules) {
  Schema schema = detail::scalar_schema(Schema::Kind::kText, rules);
  schema.pattern = "^([0-9]+(\\.[0-9]*)?[dhms])+$";
  return schema;
}

}  // namespace mirrortrain::config
