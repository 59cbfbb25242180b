// What the benchmarks of kernels share: memory, numbers and time.
#pragma once

#include <time.h>

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "base/tensor_view.h"

namespace mirrortrain {

/// Processor time of this thread.
inline double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Free {
  void operator()(std::byte* data) const { std::free(data); }
};
using Memory = std::unique_ptr<std::byte, Free>;

inline Memory allocate(std::size_t bytes) {
  return Memory(static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64 + 64)));
}

/// Numbers from -range to range.
inline void fill(const TensorView& view, float range) {
  std::uint32_t random = 1;
  for (float& value : view.span<float>()) {
    random = random * 1664525u + 1013904223u;
    value = (static_cast<float>(random >> 8) / 8388608.0f - 1.0f) * range;
  }
}

}  // namespace mirrortrain
