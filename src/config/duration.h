#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "config/codec.h"

namespace mirrortrain::config {

/// A length of time: `90s`, `30m`, `1.5h`, `2d`, or several together, the longest unit first: `1h30m`. Never 0.
struct Duration {
  std::int64_t milliseconds = 0;

  double seconds() const { return static_cast<double>(milliseconds) / 1000; }
  friend bool operator==(const Duration&, const Duration&) = default;
};

/// nullopt for other texts, for 0 and for more than 10,000 days.
std::optional<Duration> parse_duration(std::string_view text);

/// "1h30m": the text that is read as this duration.
std::string duration_text(const Duration& duration);

template <>
struct Codec<Duration> {
  static bool accepts(const Value& value) { return value.is_scalar() && parse_duration(value.text()).has_value(); }
  static void read(const Node& node, Duration& out);
  static Value show(const Duration& value) { return text_value(duration_text(value)); }
  static Schema schema(const Rules& rules);
};

}  // namespace mirrortrain::config
