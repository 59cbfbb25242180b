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

/// What cuDNN knows tensor i as: some of its tools take 0 for a number that was never set.
constexpr std::int64_t unique_id(std::int64_t tensor) { return tensor + 1; }

/// A graph compiled for one GPU by one engine.
class CudnnPlan {
 public:
  /// `config` is the engine's, `plan` finalized from it.
  CudnnPlan(Descriptor config, Descriptor plan, std::string name);

  std::size_t workspace_bytes() const { return workspace_bytes_; }
  /// The engine and why it was taken, for the log.
  const std::string& name() const { return name_; }

  /// Runs on `stream`, tensor i at pointers[i] (null for virtual ones). Pointers that repeat from call to call cost no
  /// allocation.
  void enqueue(const Cudnn& cudnn, cudaStream_t stream, std::span<void* const> pointers, std::byte* workspace);

 private:
  Descriptor config_, plan_;
  std::string name_;
  std::size_t workspace_bytes_ = 0;
  std::vector<void*> bound_;  ///< what `pack_` was made from: the pointers, then the workspace
  std::optional<Descriptor> pack_;
};

/// Up to `most` plans for a finalized operation graph that keep to the options, the one that cuDNN's heuristics think
/// fastest first, at least one; `on_float32` where it multiplies float32. Plans to fall back on come alone. Engines
/// that compile their kernels when a plan is made are left out: that takes seconds each, so that a program would not
/// start at once, and needs a driver, so that nobody could determine without a GPU what is supported. Throws Error with
/// cuDNN's reasons where no plan is left.
std::vector<CudnnPlan> plans_for(const Cudnn& cudnn, const Descriptor& graph, bool on_float32, std::size_t most);

}  // namespace mirrortrain::cuda
