#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "device/cuda/cuda_stream.h"
#include "kernels/cuda/choices.h"

namespace mirrortrain::cuda {

/// So many of what a library's heuristics propose are measured: the rest are seldom fast.
inline constexpr std::size_t kMostCandidates = 8;

/// Ways to compute one problem, the one that the library thinks fastest first.
struct Candidates {
  std::vector<std::size_t> operand_bytes;    ///< 0: there is none, and its pointer is null
  std::vector<std::size_t> workspace_bytes;  ///< one per candidate
  /// Throws Error where the candidate cannot run.
  std::function<void(std::size_t candidate, CudaStream& stream, std::span<void* const> operands, std::byte* workspace)>
      enqueue;
};

/// The one that is fastest on a GPU on operands of zeros, in memory and on a stream that are there for as long as it
/// takes; the first where there is too little memory for that. `choices` remembers it for problems equal to `problem`.
/// Throws Error where the GPU fails.
std::size_t choose_by_trial(Choices& choices, const std::string& problem, int gpu, const Candidates& candidates);

}  // namespace mirrortrain::cuda
