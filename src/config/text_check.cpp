#include "config/text_check.h"

#include <fmt/format.h>

namespace mirrortrain::config {
namespace {

// The length of the UTF-8 character that begins the text, 0 if there is none: overlong forms, surrogates and what lies
// beyond U+10FFFF are none.
std::size_t character_length(std::string_view text, char32_t& character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const std::size_t length = lead < 0x80   ? 1
                             : lead < 0xC2 ? 0
                             : lead < 0xE0 ? 2
                             : lead < 0xF0 ? 3
                             : lead < 0xF5 ? 4
                                           : 0;
  if (length == 0 || text.size() < length) return 0;
  character = length == 1 ? lead : lead & (0xFFu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    character = (character << 6) | (byte(i) & 0x3F);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = character >= 0xD800 && character <= 0xDFFF;
  return character < kLeast[length] || character > 0x10FFFF || surrogate ? 0 : length;
}

bool is_control(char32_t c) {
  return (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7F || (c >= 0x80 && c < 0xA0 && c != 0x85);
}

}  // namespace

std::optional<TextFault> find_fault(std::string_view text) {
  std::uint32_t line = 1;
  std::size_t line_start = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto fault = [&](std::string message) {
      return TextFault{line, static_cast<std::uint32_t>(at - line_start + 1), std::move(message)};
    };
    char32_t character = 0;
    const std::size_t length = character_length(text.substr(at, 4), character);
    if (length == 0) {
      return fault(fmt::format("the byte 0x{:02X} is not UTF-8; save the file as UTF-8 text",
                               static_cast<unsigned char>(text[at])));
    }
    if (is_control(character)) {
      return fault(fmt::format("the control character U+{:04X} is not allowed; is this a text file?",
                               static_cast<std::uint32_t>(character)));
    }
    at += length;
    if (character == '\n') ++line, line_start = at;
  }
  return std::nullopt;
}

}  // namespace mirrortrain::config
