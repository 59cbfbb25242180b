#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <memory_resource>
#include <vector>

#include "base/tensor_view.h"
#include "device/cpu/cpu_device.h"

namespace mirrortrain::testing {

/// Memory aligned to 64 bytes that starts as 0xff (NaN in every float type) and knows when bytes after its end were
/// written. As everything of std::pmr it comes from the default resource, which the tests' program for GPUs makes one
/// that the GPU reaches too.
class Storage {
 public:
  explicit Storage(std::size_t bytes)
      : bytes_(bytes),
        data_(static_cast<std::byte*>(std::pmr::get_default_resource()->allocate(bytes + kGuard, kAlignment)),
              Free{std::pmr::get_default_resource(), bytes + kGuard}) {
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
  static constexpr std::size_t kGuard = 64, kAlignment = 64;
  struct Free {
    std::pmr::memory_resource* memory;
    std::size_t bytes;
    void operator()(std::byte* data) const { memory->deallocate(data, bytes, kAlignment); }
  };
  std::size_t bytes_;
  std::unique_ptr<std::byte[], Free> data_;
};

using mirrortrain::InlineStream;

}  // namespace mirrortrain::testing
