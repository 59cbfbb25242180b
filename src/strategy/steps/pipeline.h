#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/barrier.h"
#include "runtime/program.h"
#include "strategy/topology.h"

namespace mirrortrain {

/// What a stage computes of a microbatch: its layers forward, or backward; the last stage does both at once.
struct MicrobatchWork {
  int replica = 0, stage = 0, microbatch = 0;
  bool backward = false;

  friend bool operator==(const MicrobatchWork&, const MicrobatchWork&) = default;
};

/// What a lane of a pipeline, with these stages, does in a step, in order: every stage computes as few microbatches
/// forward as keep the later stages busy, then one backward after each forward ("1F1B", Narayanan et al., PipeDream,
/// 2019), so that at most Mesh::in_flight() microbatches of a replica are between forward and backward. `trains`: else
/// forward alone. A lane with several stages takes them as a lane for each would, so no order waits for itself.
std::vector<MicrobatchWork> pipeline_schedule(const Mesh& mesh, std::span<const StagePlace> stages, bool trains);

/// How a program's steps are divided among the stages: each has one run of them forward and one backward.
class StageSteps {
 public:
  /// `stages`: by layer. Any division computes the same.
  StageSteps(const Program& program, const std::map<std::string, int>& stages, int count, bool trains);

  struct Range {
    std::size_t first = 0, last = 0;
  };
  Range of(int stage, bool backward) const {
    return (backward ? backward_ : forward_)[static_cast<std::size_t>(stage)];
  }

 private:
  std::vector<Range> forward_, backward_;
};

/// How far the stages of a pipeline have come in a step.
class PipelineProgress {
 public:
  explicit PipelineProgress(const Mesh& mesh);

  /// Whether what `work` needs is done: the same microbatch in the stage before it, forward or backward, or the one
  /// whose memory it takes.
  bool can_begin(const MicrobatchWork& work, bool trains) const;
  /// Returns when it can begin, with the seconds that it waited. `barrier`: of the lanes; null for one alone, which
  /// never waits. Throws what the barrier throws if it is aborted, and aborts it if nothing happens in its time.
  double wait_for(const MicrobatchWork& work, bool trains, Barrier* barrier) const;
  void finished(const MicrobatchWork& work);
  /// Before a step, for the stages of one lane, between two barriers.
  void restart(std::span<const StagePlace> stages);

 private:
  /// Of a stage of a replica: how many microbatches are done. On its own cache line, as one lane writes it.
  struct alignas(64) Done {
    std::atomic<int> forward = 0, backward = 0;
  };
  const Done& done(int replica, int stage) const {
    return done_[static_cast<std::size_t>(replica * mesh_.stages + stage)];
  }

  const Mesh mesh_;
  std::vector<Done> done_;
};

}  // namespace mirrortrain
