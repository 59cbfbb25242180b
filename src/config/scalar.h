#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
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
/// "{units: 64, activation: relu}", shortened to about `limit` bytes.
std::string flow_text(const Value& value, std::size_t limit = 48);
using mirrortrain::shortened;

/// The one of `names` that was probably meant: the same in another spelling ("MaxPooling2D"), an equivalent of a name
/// from Keras, PyTorch or common usage ("lr"), or the nearest within two edits.
std::optional<std::string> nearest_name(std::string_view name, const std::vector<std::string>& names);
/// "; write {type: adam, amsgrad: true}" for a name without an equivalent here, or "". `kind`: "key", "optimizer", ...
std::string advice_on(std::string_view kind, std::string_view name);
/// The text without characters that word processors and web pages insert: curly quotes, no-break and zero-width spaces.
std::string without_odd_characters(std::string_view text);
/// "; did you mean 'units'?" with the nearest name, or "".
std::string suggestion(std::string_view name, const std::vector<std::string>& names);

}  // namespace mirrortrain::config
