#pragma once

#include <array>
#include <cstdint>

#include "collective/local/reduction.h"

namespace mirrortrain {

/// What `bench-allreduce` measured, microseconds for a sum in place: what `cross_device_ops: auto` chooses by. Two
/// cores of an AMD EPYC (Zen 4); docs/performance.md tells how. With more ranks than cores, ranks share threads.
struct MeasuredAllReduce {
  int ranks;
  std::uint64_t bytes;
  double one_pass, ring, hierarchical_copy, reduction_to_one_device;

  double of(LocalAlgorithm algorithm) const {
    switch (algorithm) {
      case LocalAlgorithm::kOnePass: return one_pass;
      case LocalAlgorithm::kRing: return ring;
      case LocalAlgorithm::kHierarchicalCopy: return hierarchical_copy;
      case LocalAlgorithm::kReductionToOneDevice: return reduction_to_one_device;
    }
    return 0;
  }
};

/// Ascending by ranks, then by bytes.
inline constexpr auto kMeasuredOnSharedMemory = std::to_array<MeasuredAllReduce>({
    {2, 8, 0.28, 0.45, 0.37, 0.44},
    {2, 1 << 10, 0.29, 0.50, 0.47, 0.47},
    {2, 16 << 10, 0.57, 1.51, 1.56, 2.46},
    {2, 256 << 10, 3.61, 19.44, 21.79, 37.35},
    {2, 1 << 20, 13.83, 55.11, 80.14, 101},
    {2, 4 << 20, 49.10, 91.73, 189, 235},
    {2, 16 << 20, 483, 1028, 1251, 1559},
    {2, 64 << 20, 4295, 6785, 8412, 9525},
    {3, 1 << 20, 58, 393, 330, 534},
    {4, 1 << 20, 64, 425, 100, 940},
    {8, 1 << 20, 124, 614, 465, 1680},
});

/// The row nearest to so many ranks and bytes: the most ranks that are not more, then the least bytes that are not
/// fewer, or the last of those ranks.
constexpr const MeasuredAllReduce& nearest_measurement(int ranks, std::uint64_t bytes) {
  const MeasuredAllReduce* nearest = &kMeasuredOnSharedMemory.front();
  for (const MeasuredAllReduce& row : kMeasuredOnSharedMemory) {
    if (row.ranks > ranks) break;
    if (row.ranks != nearest->ranks || nearest->bytes < bytes) nearest = &row;
  }
  return *nearest;
}

constexpr LocalAlgorithm fastest(const MeasuredAllReduce& row) {
  LocalAlgorithm best = kLocalAlgorithmNames.front().second;
  for (const auto& [name, algorithm] : kLocalAlgorithmNames) {
    if (row.of(algorithm) < row.of(best)) best = algorithm;
  }
  return best;
}

}  // namespace mirrortrain
