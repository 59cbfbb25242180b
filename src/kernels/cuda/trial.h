#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "device/cuda/cuda_stream.h"
#include "kernels/cuda/choices.h"

namespace mirrortrain::cuda {

/// How many of a library's proposals are measured: the rest are seldom fast.
inline constexpr std::size_t kMostCandidates = 8;

/// Candidate algorithms for one problem, in the order of the library's heuristics.
struct Candidates {
  std::vector<std::size_t> operand_bytes;    ///< 0: absent, and its pointer is null
  std::vector<std::size_t> workspace_bytes;  ///< one per candidate
  /// Throws Error where the candidate cannot run.
  std::function<void(std::size_t candidate, CudaStream& stream, std::span<void* const> operands, std::byte* workspace)>
      enqueue;
};

/// The candidate that is measured fastest on a GPU on operands of zeros, in temporary memory and on a temporary stream;
/// the first one if there is too little memory. `choices` caches it for problems equal to `problem`. Throws Error if
/// the GPU fails.
std::size_t choose_by_trial(Choices& choices, const std::string& problem, int gpu, const Candidates& candidates);

}  // namespace mirrortrain::cuda
