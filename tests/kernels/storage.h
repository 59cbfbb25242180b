#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "base/tensor_view.h"
#include "device/cpu/cpu_device.h"

namespace mirrortrain::testing {

/// Memory aligned to 64 bytes that starts as 0xff (NaN in every float type) and knows when bytes after its end were
/// written.
class Storage {
 public:
  explicit Storage(std::size_t bytes) : bytes_(bytes), data_(new (std::align_val_t{64}) std::byte[bytes + kGuard]) {
    std::memset(data_.get(), 0xff, bytes + kGuard);
  }
  std::byte* data() const { return data_.get(); }
  std::vector<std::byte> copy() const { return {data(), data() + bytes_}; }
  bool intact() const {
    for (std::size_t i = 0; i < kGuard; ++i) {
      if (data_.get()[bytes_ + i] != std::byte{0xff}) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t kGuard = 64;
  struct Free {
    void operator()(std::byte* data) const { operator delete[](data, std::align_val_t{64}); }
  };
  std::size_t bytes_;
  std::unique_ptr<std::byte[], Free> data_;
};

using mirrortrain::InlineStream;

}  // namespace mirrortrain::testing
