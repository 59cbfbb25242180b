#pragma once

#include <cstddef>
#include <initializer_list>
#include <string_view>

namespace mirrortrain {

/// Whether the text has these parts, each behind the one before it: a message's place, the names in it and the key
/// words of its remedy, whatever the sentence around them.
inline bool has_in_order(std::string_view text, std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts) {
    const std::size_t at = text.find(part);
    if (at == text.npos) return false;
    text.remove_prefix(at + part.size());
  }
  return true;
}

}  // namespace mirrortrain
