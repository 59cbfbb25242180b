#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace mirrortrain::launch {

/// The part of this machine that one of several processes has.
struct MachinePart {
  std::vector<int> cores;  ///< none: all
  std::string gpus;        ///< a value of CUDA_VISIBLE_DEVICES; empty: all
};

/// The `part`-th of `parts` parts of these cores and of so many GPUs, as equal as possible; if there is one, it is the
/// whole machine.
MachinePart part_of_machine(std::span<const int> cores, std::size_t gpus, int part, int parts);

}  // namespace mirrortrain::launch
