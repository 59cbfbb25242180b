#pragma once

#include <cstdint>
#include <vector>

#include "strategy/variables/variable_store.h"

namespace mirrortrain {

/// Gradients that are reduced over the replicas together: neighbours in a group.
struct Pack {
  int group = 0;
  std::int64_t begin = 0, end = 0;     ///< elements of the group
  std::vector<std::size_t> variables;  ///< whose gradients they are

  std::int64_t elements() const { return end - begin; }
};

/// The gradients of the store's shared groups, in reverse order of creation, as backward gives them. A pack is full,
/// and the next one begins, when it holds `bytes_per_pack` or more; 0: one pack per group.
std::vector<Pack> make_packs(const VariableStore& variables, std::uint64_t bytes_per_pack);

}  // namespace mirrortrain
