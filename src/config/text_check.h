#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mirrortrain::config {

struct TextFault {
  std::uint32_t line = 1, column = 1;
  std::string message;
};

/// The first place where the bytes are no text that a configuration may hold: not UTF-8, or a control character.
std::optional<TextFault> find_fault(std::string_view text);

}  // namespace mirrortrain::config
