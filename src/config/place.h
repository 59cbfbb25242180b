#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace mirrortrain::config {

/// Where something was written: in a file, or on the command line with `--set`. Lines and columns count from 1.
struct Place {
  std::shared_ptr<const std::string> source;  ///< the file's name, or "--set key.path"; null for a default
  std::uint32_t line = 0;                     ///< 0 for `--set`
  std::uint32_t column = 0;                   ///< for `--set`: how many came before it on the command line

  bool given() const { return source != nullptr; }
  bool from_set() const { return source != nullptr && line == 0; }

  /// "configs/a.yaml:14:5", "--set key.path", or "" for a default.
  std::string text() const;
};

}  // namespace mirrortrain::config
