#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "config/errors.h"
#include "config/value.h"

namespace mirrortrain::config {

/// Limits of a configuration; inline data needs most of them, hostile files exceed them.
inline constexpr std::size_t kMostBytes = std::size_t{16} << 20;
inline constexpr std::size_t kMostLevels = 64;
inline constexpr std::size_t kMostValues = 1'000'000;

/// Where a text comes from: a file, or an option of the command line.
struct Source {
  std::shared_ptr<const std::string> name;
  bool is_file = true;
  std::uint32_t order = 0;  ///< of an option among those of its kind
  std::string path;         ///< of the text's root in the configuration

  /// Lines and columns count from 1.
  Place at(std::uint32_t line, std::uint32_t column) const {
    return is_file ? Place{name, line, column} : Place{name, 0, order};
  }
};

/// The one YAML document in the text, aliases and merge keys expanded. Duplicate keys are added to `errors`, and the
/// first one kept; a text that is not YAML or exceeds the limits is one error, and nullopt is returned.
std::optional<Value> read_yaml(std::string_view text, const Source& source, Errors& errors);

}  // namespace mirrortrain::config
