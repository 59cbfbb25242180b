#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "config/names.h"
#include "config/value.h"

namespace mirrortrain::config {

/// A value's type by YAML's core schema: quoted scalars are texts.
enum class Meaning : std::uint8_t { kNull, kBoolean, kInteger, kNumber, kText, kSequence, kMapping };
Meaning meaning_of(const Value& value);

/// The value's content, or nullopt if it is of another type or does not fit. An integer is also a number.
std::optional<bool> as_boolean(const Value& value);
std::optional<std::int64_t> as_integer(const Value& value);
std::optional<std::uint64_t> as_unsigned(const Value& value);
std::optional<double> as_number(const Value& value);
std::optional<std::string> as_text(const Value& value);

/// "25MiB", "64K", "4096": bytes, with K = KiB = 1024 and KB = 1000. nullopt if it is not a size or does not fit.
std::optional<std::uint64_t> parse_size(std::string_view text);

/// A scalar that reads back as the number, in the fewest digits.
Value number_value(double number);
Value number_value(float number);
Value text_value(std::string_view text);

/// "the list [0.1]", "the text 'abc'", "the number 3.5": for messages, shortened.
std::string describe(const Value& value);
/// "{radius: 64, color: red}", shortened to about `limit` bytes.
std::string flow_text(const Value& value, std::size_t limit = 48);
using mirrortrain::shortened;

/// The text without characters that word processors and web pages insert: curly quotes, no-break and zero-width spaces.
std::string without_odd_characters(std::string_view text);

}  // namespace mirrortrain::config
