#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
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

  /// The same compiled graph for pointers of its own, without compiling it again.
  CudnnPlan another() const { return CudnnPlan(compiled_, name_); }

  std::size_t workspace_bytes() const { return workspace_bytes_; }
  /// The engine and why it was chosen, for the log.
  const std::string& name() const { return name_; }

  /// Runs on `stream`, tensor i at pointers[i] (null for virtual ones). Allocates nothing if the pointers are those of
  /// the last call.
  void enqueue(const Cudnn& cudnn, cudaStream_t stream, std::span<void* const> pointers, std::byte* workspace);

 private:
  struct Compiled {
    Descriptor config, plan;
  };
  CudnnPlan(std::shared_ptr<const Compiled> compiled, std::string name);

  std::shared_ptr<const Compiled> compiled_;
  std::string name_;
  std::size_t workspace_bytes_ = 0;
  std::vector<void*> bound_;  ///< the pointers and then the workspace in `pack_`
  std::optional<Descriptor> pack_;
};

/// Which plans are wanted for a graph.
struct PlanLimits {
  std::size_t most = 1;     ///< at least 1
  bool on_float32 = false;  ///< it multiplies float32
  /// Whether engines may compile their kernels when a plan is created (cuDNN loads NVRTC for it), if the options allow
  /// what is not deterministic. That takes up to seconds each, which would delay the start of every program, so only
  /// what is measured anyway asks for it.
  bool may_compile = false;
};

/// Up to `most` plans for a finalized operation graph that satisfy limits and options, in the order of cuDNN's
/// heuristics, at least one. A fallback plan is returned only by itself. Throws Error with cuDNN's reasons if no plan
/// is left.
std::vector<CudnnPlan> plans_for(const Cudnn& cudnn, const Descriptor& graph, const PlanLimits& limits);

}  // namespace mirrortrain::cuda
