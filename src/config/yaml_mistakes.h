#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mirrortrain::config {

/// Why a text is not valid YAML, and where; lines and columns count from 1.
struct YamlMistake {
  std::uint32_t line = 0, column = 0;
  std::string message;
};

/// The common mistake behind an error that a parser reported at byte `stopped`: an unclosed quote, a tab in the
/// indentation, an unclosed bracket, no space after a colon, '=' instead of a colon. nullopt if it is none of these.
std::optional<YamlMistake> find_yaml_mistake(std::string_view text, std::size_t stopped);

}  // namespace mirrortrain::config
