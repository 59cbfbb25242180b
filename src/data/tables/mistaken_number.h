#pragma once

#include <string>
#include <string_view>

namespace mirrortrain::data {

/// What to write for a text that people take for a number and that is none: 1,163 or 1 163 (thousands), $5.5, 50%,
/// 12 kg, 1.5 where the decimal `point` is a comma. "write 1163, without ..."; "" for other texts.
std::string mistaken_number(std::string_view text, char point);

}  // namespace mirrortrain::data
