#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/cuda/cudnn.h"
#include "kernels/cuda/cudnn_descriptor.h"

namespace mirrortrain::cuda {

/// cuDNN's unique id of tensor i: some of its tools treat 0 as unset.
constexpr std::int64_t unique_id(std::int64_t tensor) { return tensor + 1; }

/// A graph compiled for one GPU by one engine.
class CudnnPlan {
 public:
  /// `config` is the engine's, `plan` finalized from it.
  CudnnPlan(Descriptor config, Descriptor plan, std::string name);

  std::size_t workspace_bytes() const { return workspace_bytes_; }
  /// The engine and why it was chosen, for the log.
  const std::string& name() const { return name_; }

  /// Runs on `stream`, tensor i at pointers[i] (null for virtual ones). Allocates nothing if the pointers are those of
  /// the last call.
  void enqueue(const Cudnn& cudnn, cudaStream_t stream, std::span<void* const> pointers, std::byte* workspace);

 private:
  Descriptor config_, plan_;
  std::string name_;
  std::size_t workspace_bytes_ = 0;
  std::vector<void*> bound_;  ///< the pointers and then the workspace in `pack_`
  std::optional<Descriptor> pack_;
};

/// Up to `most` plans for a finalized operation graph that satisfy the options, in the order of cuDNN's heuristics, at
/// least one; `on_float32` if it multiplies float32. A fallback plan is returned only by itself. Engines that compile
/// their kernels when a plan is created are excluded: that takes seconds each, which would delay a program's start, and
/// needs a driver, so that support could not be determined without a GPU. Throws Error with cuDNN's reasons if no plan
/// is left.
std::vector<CudnnPlan> plans_for(const Cudnn& cudnn, const Descriptor& graph, bool on_float32, std::size_t most);

}  // namespace mirrortrain::cuda
