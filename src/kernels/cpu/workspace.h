#pragma once

#include <cstddef>

namespace mirrortrain::cpu {

/// Lays parts of a workspace end to end, each aligned to 64 bytes.
class WorkspaceLayout {
 public:
  /// Returns the part's offset.
  std::size_t add(std::size_t bytes) {
    const std::size_t offset = bytes_;
    bytes_ += (bytes + 63) / 64 * 64;
    return offset;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

}  // namespace mirrortrain::cpu
