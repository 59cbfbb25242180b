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

/// The first `count` of the GPUs that this process sees, as CUDA_VISIBLE_DEVICES names them for its children: by what
/// this process's own value lists, if it has one, else by their numbers.
std::vector<std::string> visible_gpu_names(std::size_t count);

/// The `part`-th of `parts` parts of these cores and of these GPUs, as equal as possible; if there is one, it is the
/// whole machine.
MachinePart part_of_machine(std::span<const int> cores, std::span<const std::string> gpus, int part, int parts);

}  // namespace mirrortrain::launch
