#include "report/page/markup.h"

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "report/json.h"

namespace mirrortrain::report {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

std::string_view reference_of(char character) {
  switch (character) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: return {};
  }
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string html;
  html.reserve(text.size());
  while (!text.empty()) {
    const auto [code, bytes] = first_character(text);
    const bool breaks = text[0] == '\n' || text[0] == '\t';
    if (const std::string_view reference = reference_of(text[0]); !reference.empty()) {
      html += reference;
    } else if (bytes == 0 || (is_control(code) && !breaks)) {
      html += kReplacement;
    } else {
      html += text.substr(0, bytes);
    }
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return html;
}

/// In JSON these characters occur only in strings, where an escape is equivalent.
Markup script_json(const nlohmann::ordered_json& value) {
  Markup script;
  for (const char character : json_line(value)) {
    switch (character) {
      case '<': script.text += "\\u003c"; break;
      case '>': script.text += "\\u003e"; break;
      case '&': script.text += "\\u0026"; break;
      default: script.text += character;
    }
  }
  return script;
}

std::string png_address(std::span<const std::byte> png) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string address = "data:image/png;base64,";
  for (std::size_t i = 0; i < png.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, png.size() - i);
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k) bits = bits << 8 | (k < count ? static_cast<std::uint32_t>(png[i + k]) : 0);
    for (std::size_t k = 0; k < 4; ++k) address += k <= count ? kDigits[bits >> (18 - 6 * k) & 63] : '=';
  }
  return address;
}

}  // namespace mirrortrain::report
