#pragma once

#include <cstdint>
#include <string>

#include "collective/communicator.h"

namespace mirrortrain::local {

enum class Operation : std::uint8_t { kAllReduce, kReduceScatter, kAllGather, kBroadcast };

/// What a rank came to do. On a cache line of its own, because its rank alone writes it.
struct alignas(64) Call {
  Operation operation = Operation::kAllReduce;
  Elements elements;
  int root = 0;

  bool fits(const Call& other) const;
  /// "all_reduce of 100 float32 elements (pack 2 of 3: ...)"
  std::string text() const;
};

}  // namespace mirrortrain::local
