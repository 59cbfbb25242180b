#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mirrortrain::report {

/// Text wrapped to lines of at most `width` columns: longer ones are broken between columns of a table or, if there are
/// none, between words, and continue indented (a comment as a comment). A single word may be wider.
std::string fitted(std::string_view text, std::size_t width);

/// The text, truncated with "..." if it is wider than `width` columns.
std::string cut_off(std::string_view text, std::size_t width);

/// Text with its tables narrowed to `width` columns if possible: names are truncated first, then titles and other
/// words, numbers never. A table is two or more lines with aligned cells, separated by two or more spaces. Other lines
/// are unchanged.
std::string narrowed(std::string_view text, std::size_t width);

}  // namespace mirrortrain::report
