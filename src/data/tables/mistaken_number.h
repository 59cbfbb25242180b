#pragma once

#include <string>
#include <string_view>

namespace mirrortrain::data {

/// A hint for a text that looks like a number but cannot be read as one: 1,163 or 1 163 (thousands), $5.5, 50%, 12 kg,
/// 1.5 if the decimal `point` is a comma. "write 1163, without ..."; "" for other texts.
std::string mistaken_number(std::string_view text, char point);

}  // namespace mirrortrain::data
