#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/barrier.h"
#include "runtime/program.h"
#include "strategy/pipeline_stages.h"
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
/// forward alone.
///
/// Why nothing waits forever: there is one total order of the run's work, by the time at which it would be done if each
/// stage had a lane of its own and everything took the same time, then by stage, then by replica. Every lane, of any
/// worker, computes a subsequence of it, and what work waits for (values, memory, the other lanes at a barrier of a
/// stage that places divide) is earlier in it or the same work of another place.
std::vector<MicrobatchWork> pipeline_schedule(const Mesh& mesh, std::span<const StagePlace> stages, bool trains);

/// Of a program's steps, by their layers' stages.
StageRanges stage_steps(const Program& program, const std::map<std::string, int>& stages, int count, bool trains);

/// How far the stages of a pipeline that are in this process have come in a step.
class PipelineProgress {
 public:
  /// `lanes`: of this process. `spin`: every one has its own cores.
  PipelineProgress(const Mesh& mesh, std::span<const LanePlace> lanes, bool spin);

  /// Whether what `work` needs of this process is done at all places of the replica: the same microbatch in the stage
  /// before it, forward or backward, or the one whose memory it takes. What other workers compute is waited for where
  /// it arrives.
  bool can_begin(const MicrobatchWork& work, bool trains) const;
  /// Returns when it can begin, with the seconds that it waited. `barrier`: of the lanes; null for one alone, which
  /// never waits. Throws what the barrier throws if it is aborted, and aborts it if nothing happens in its time.
  double wait_for(const MicrobatchWork& work, bool trains, Barrier* barrier) const;
  /// The part of a place, by its index on the axis `model`, is done.
  void finished(const MicrobatchWork& work, int model);
  /// Before a step, for the stages of one lane, between two barriers.
  void restart(std::span<const StagePlace> stages);

  /// Of the lanes that have places of a stage of a replica; null where one has them all.
  Barrier* barrier_of(int replica, int stage) const;
  void set_timeout(double seconds);
  /// See Barrier::abort.
  void abort(const std::string& reason);

 private:
  /// Of a place's stage: how many microbatches are done. On its own cache line, as one lane writes it.
  struct alignas(64) Done {
    std::atomic<int> forward = 0, backward = 0;
  };
  std::size_t number(int replica, int stage, int model) const {
    return static_cast<std::size_t>((replica * mesh_.stages + stage) * mesh_.model + model);
  }

  const Mesh mesh_;
  StageRange here_;
  std::vector<Done> done_;
  std::map<std::pair<int, int>, std::unique_ptr<Barrier>> barriers_;  ///< by replica and stage
};

}  // namespace mirrortrain
