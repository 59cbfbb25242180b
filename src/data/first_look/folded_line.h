#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mirrortrain::data {

/// Columns of a line that a terminal shows.
inline constexpr std::size_t kLineColumns = 80;

/// Breaks a long line of YAML between entries of its flow collections; `indent`: spaces before what follows.
std::string folded(std::string_view line, std::size_t indent = 4);

}  // namespace mirrortrain::data
