#pragma once

#include <cstddef>
#include <vector>

namespace mirrortrain {

/// A tensor's time in the arena, in steps of the program: written at `first`, read for the last time at `last`.
struct Lifetime {
  std::size_t bytes = 0;
  std::size_t first = 0, last = 0;
};

struct ArenaPlan {
  std::vector<std::size_t> offsets;  ///< one per lifetime, multiples of 256
  std::size_t bytes = 0;
};

/// Gives tensors that never live at the same time the same memory: largest first, each at the lowest offset that is
/// free for its whole life.
ArenaPlan plan_arena(const std::vector<Lifetime>& lifetimes);

}  // namespace mirrortrain
