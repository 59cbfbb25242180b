#pragma once

#include <cstddef>
#include <cstdint>

#include "device/cpu/parallel_loops.h"

namespace mirrortrain::cpu {

/// Lays out parts of a workspace consecutively, each aligned to 64 bytes.
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

/// The same with parts of floats, and offsets in floats.
struct FloatLayout : WorkspaceLayout {
  std::size_t floats(std::int64_t count) {
    return add(static_cast<std::size_t>(count) * sizeof(float)) / sizeof(float);
  }
};

}  // namespace mirrortrain::cpu
