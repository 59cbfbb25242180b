#pragma once

#include <cstdint>

#include "kernels/cuda/launch.h"

namespace mirrortrain::testing {

/// Grids have at most so many blocks while this lives, as on a smaller or larger device.
class MaxBlocks {
 public:
  explicit MaxBlocks(std::int64_t blocks) : before_(cuda::host_max_blocks) { cuda::host_max_blocks = blocks; }
  ~MaxBlocks() { cuda::host_max_blocks = before_; }
  MaxBlocks(const MaxBlocks&) = delete;
  MaxBlocks& operator=(const MaxBlocks&) = delete;

 private:
  std::int64_t before_;
};

}  // namespace mirrortrain::testing
