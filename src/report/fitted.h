#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mirrortrain::report {

/// Text in lines of at most `width` columns: longer ones are broken between columns of a table or, where there are
/// none, between words, and go on indented (a comment as a comment). A word alone may be wider.
std::string fitted(std::string_view text, std::size_t width);

/// The text, cut off with "..." where it is wider than so many columns.
std::string cut_off(std::string_view text, std::size_t width);

/// Text whose tables are at most `width` columns wide where that can be: names are cut off first, then titles and other
/// words, numbers never. A table is two lines or more whose cells stand below each other, two spaces or more apart.
/// Other lines stay as they are.
std::string narrowed(std::string_view text, std::size_t width);

}  // namespace mirrortrain::report
