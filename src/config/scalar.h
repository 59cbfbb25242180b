#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "config/value.h"

namespace mirrortrain::config {

/// What a value means by YAML's core schema: quoted scalars are texts.
enum class Meaning : std::uint8_t { kNull, kBoolean, kInteger, kNumber, kText, kSequence, kMapping };
Meaning meaning_of(const Value& value);

/// The value's content, or nothing if it means something else or does not fit. An integer is a number too.
std::optional<bool> as_boolean(const Value& value);
std::optional<std::int64_t> as_integer(const Value& value);
std::optional<std::uint64_t> as_unsigned(const Value& value);
std::optional<double> as_number(const Value& value);
std::optional<std::string> as_text(const Value& value);

/// "25MiB", "64K", "4096": bytes, with K = KiB = 1024 and KB = 1000. Nothing if it is none or does not fit.
std::optional<std::uint64_t> parse_size(std::string_view text);

/// A scalar that reads back as the number, in the fewest digits.
Value number_value(double number);
Value number_value(float number);
Value text_value(std::string_view text);

/// "the list [0.1]", "the text 'abc'", "the number 3.5": for messages, shortened.
std::string describe(const Value& value);
/// "{units: 64, activation: relu}", shortened to about `limit` bytes.
std::string flow_text(const Value& value, std::size_t limit = 48);
using mirrortrain::shortened;

/// The one of `names` that a name was probably meant to be: the same in other letters ("MaxPooling2D"), what Keras,
/// PyTorch or everyday speech call so ("lr"), or the nearest within two edits.
std::optional<std::string> nearest_name(std::string_view name, const std::vector<std::string>& names);
/// "; write {type: adam, amsgrad: true}" for what has no name of its own here, or "". `kind`: "key", "optimizer", ...
std::string advice_on(std::string_view kind, std::string_view name);
/// The text without what word processors and web pages put into it: curly quotes, no-break and zero-width spaces.
std::string without_odd_characters(std::string_view text);
/// "; did you mean 'units'?" with the nearest name, or "".
std::string suggestion(std::string_view name, const std::vector<std::string>& names);

}  // namespace mirrortrain::config
