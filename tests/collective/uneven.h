#pragma once

#include <vector>

#include "base/philox.h"
#include "collective/staged_reduction.h"

namespace mirrortrain::testing {

using Rows = std::vector<std::vector<float>>;  ///< by rank

/// Numbers of very different size, so that another order of the sum shows in its bits.
inline Rows uneven(int ranks, std::size_t count) {
  const Philox random = Philox::with_key(5);
  Rows rows(static_cast<std::size_t>(ranks), std::vector<float>(count));
  for (std::size_t rank = 0; rank < rows.size(); ++rank) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto words = random(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(rank), 0, 0);
      rows[rank][i] = (uniform_from_bits(words.word[0]) - 0.5f) * static_cast<float>(1 << (words.word[1] % 20));
    }
  }
  return rows;
}

/// As one thread runs all ranks in a memory that they share.
inline std::vector<float> summed(const StagedReduction& reduction, Rows rows) {
  std::vector<std::byte*> data;
  for (auto& row : rows) data.push_back(reinterpret_cast<std::byte*>(row.data()));
  for (int stage = 0; stage < reduction.stages(); ++stage) {
    for (int rank = 0; rank < reduction.ranks(); ++rank) {
      reduction.run(stage, rank, DType::kFloat32, rows[0].size(), data);
    }
  }
  return rows[0];
}

}  // namespace mirrortrain::testing
