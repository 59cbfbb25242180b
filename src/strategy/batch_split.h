#pragma once

#include <algorithm>
#include <cstdint>

namespace mirrortrain {

/// A replica's part of a global batch.
struct RowRange {
  std::int64_t first = 0, count = 0;
};

/// Splits `rows` into floor/ceil parts, larger parts first; a replica may get none.
inline RowRange rows_of_replica(std::int64_t rows, int replica, int replicas) {
  const std::int64_t base = rows / replicas, larger = rows % replicas;
  return {replica * base + std::min<std::int64_t>(replica, larger), base + (replica < larger ? 1 : 0)};
}

}  // namespace mirrortrain
