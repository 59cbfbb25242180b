#pragma once

#include <fmt/format.h>

#include <concepts>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace mirrortrain::report {

/// Text as HTML: &, <, >, quotes and apostrophes as references. Characters that HTML cannot contain (controls, invalid
/// UTF-8) become U+FFFD.
std::string escaped(std::string_view text);

/// HTML, inserted into a page verbatim. Text that is not the program's own is converted only by `markup`, so that
/// nothing from a file can become a tag.
struct Markup {
  std::string text;
  Markup& operator+=(const Markup& more) {
    text += more.text;
    return *this;
  }
};

namespace detail {

template <class T>
using Inserted = std::conditional_t<std::is_arithmetic_v<T>, T, std::string>;

template <class T>
requires std::is_arithmetic_v<T> T inserted(T number) { return number; }
inline std::string inserted(std::string_view text) { return escaped(text); }
inline std::string inserted(const Markup& markup) { return markup.text; }

}  // namespace detail

/// As fmt::format: numbers as they are, Markup as HTML, every other text escaped.
template <class... Parts>
Markup markup(fmt::format_string<detail::Inserted<Parts>...> form, const Parts&... parts) {
  return {fmt::format(form, detail::inserted(parts)...)};
}

/// JSON as the text of a <script> element, escaped so that it cannot close the element.
Markup script_json(const nlohmann::ordered_json& value);

/// "data:image/png;base64,..."
std::string png_address(std::span<const std::byte> png);

}  // namespace mirrortrain::report
