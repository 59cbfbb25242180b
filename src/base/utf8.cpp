#include "base/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace mirrortrain {
namespace {

struct Range {
  char32_t first, last;
};

template <std::size_t N>
bool is_in(const std::array<Range, N>& ranges, char32_t c) {
  return std::ranges::any_of(ranges, [c](const Range& range) { return range.first <= c && c <= range.last; });
}

constexpr auto kSpaces = std::to_array<Range>({{0x20, 0x20},
                                               {0xA0, 0xA0},
                                               {0x1680, 0x1680},
                                               {0x2000, 0x200A},
                                               {0x202F, 0x202F},
                                               {0x205F, 0x205F},
                                               {0x2800, 0x2800},
                                               {0x3000, 0x3000},
                                               {0x3164, 0x3164}});

// Line and paragraph separators, marks of direction, soft hyphen, byte order mark, tags, noncharacters.
constexpr auto kInvisible = std::to_array<Range>({{0xAD, 0xAD},
                                                  {0x061C, 0x061C},
                                                  {0x180E, 0x180E},
                                                  {0x200B, 0x200B},
                                                  {0x200E, 0x200F},
                                                  {0x2028, 0x202E},
                                                  {0x2060, 0x206F},
                                                  {0xFDD0, 0xFDEF},
                                                  {0xFEFF, 0xFEFF},
                                                  {0xFFF9, 0xFFFB},
                                                  {0xFFFE, 0xFFFF},
                                                  {0xE0000, 0xE0FFF}});

constexpr auto kCombining = std::to_array<Range>({{0x0300, 0x036F},
                                                  {0x0483, 0x0489},
                                                  {0x0591, 0x05BD},
                                                  {0x064B, 0x065F},
                                                  {0x0E31, 0x0E31},
                                                  {0x0E34, 0x0E3A},
                                                  {0x0E47, 0x0E4E},
                                                  {0x1AB0, 0x1AFF},
                                                  {0x1DC0, 0x1DFF},
                                                  {0x200B, 0x200F},
                                                  {0x20D0, 0x20FF},
                                                  {0x3099, 0x309A},
                                                  {0xFE00, 0xFE0F},
                                                  {0xFE20, 0xFE2F}});

constexpr auto kWide = std::to_array<Range>({{0x1100, 0x115F},
                                             {0x2E80, 0x303E},
                                             {0x3041, 0xA4CF},
                                             {0xA960, 0xA97F},
                                             {0xAC00, 0xD7A3},
                                             {0xF900, 0xFAFF},
                                             {0xFE10, 0xFE19},
                                             {0xFE30, 0xFE6F},
                                             {0xFF00, 0xFF60},
                                             {0xFFE0, 0xFFE6},
                                             {0x1F300, 0x1F64F},
                                             {0x1F900, 0x1F9FF},
                                             {0x20000, 0x3FFFD}});

std::string escaped(char32_t code) {
  const auto number = static_cast<unsigned>(code);
  return code < 0x80 ? fmt::format("\\x{:02x}", number) : fmt::format("\\u{:04x}", number);
}

}  // namespace

Utf8Character first_character(std::string_view text) {
  if (text.empty()) return {};
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const std::size_t bytes = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (bytes == 0 || text.size() < bytes) return {};
  char32_t code = bytes == 1 ? lead : lead & (0xFFu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = (code << 6) | (byte(i) & 0x3F);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < kLeast[bytes] || code > 0x10FFFF || surrogate) return {};
  return {code, bytes};
}

std::string_view why_not_text(std::string_view text) {
  while (!text.empty()) {
    const auto [code, bytes] = first_character(text);
    if (bytes == 0) return "is not UTF-8";
    if (code != '\t' && code != '\n' && is_control(code)) return "has a control character";
    text.remove_prefix(bytes);
  }
  return "";
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = first_character(text).bytes;
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

bool is_control(char32_t character) { return character < 0x20 || (character >= 0x7F && character < 0xA0); }

bool is_visible(char32_t character) {
  return !is_control(character) && !is_in(kSpaces, character) && !is_in(kInvisible, character);
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const auto [code, bytes] = first_character(text);
    width += bytes == 0 ? 1 : is_in(kCombining, code) ? 0 : is_in(kWide, code) ? 2 : 1;
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return width;
}

std::string padded(std::string_view text, std::size_t width) {
  std::string out(text);
  out.append(width - std::min(display_width(text), width), ' ');
  return out;
}

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  return text.starts_with(kMark) ? text.substr(kMark.size()) : text;
}

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::string_view without_outer_spaces(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

std::string with_escaped_controls(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto [code, bytes] = first_character(text);
    const std::size_t taken = std::max<std::size_t>(bytes, 1);
    const bool is_harmless = bytes == 0 || !is_control(code) || code == '\n' || code == '\t';
    out += is_harmless ? std::string(text.substr(0, taken)) : escaped(code);
    text.remove_prefix(taken);
  }
  return out;
}

std::string shortened(std::string_view text, std::size_t limit) {
  std::string out;
  while (!text.empty()) {
    if (out.size() >= limit) return out + "...";
    const auto [code, bytes] = first_character(text);
    if (bytes == 0) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    } else if (code == '\n') {
      out += "\\n";
    } else if (is_control(code) || is_in(kInvisible, code)) {
      out += escaped(code);
    } else {
      out += text.substr(0, bytes);
    }
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return out;
}

}  // namespace mirrortrain
