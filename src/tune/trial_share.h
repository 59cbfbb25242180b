#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "launch/machine_part.h"
#include "strategy/topology.h"
#include "train/configuration/configuration.h"

namespace mirrortrain::tune {

/// The machine of a study, and what every trial gets of it, the same for each, as they were when the study began: the
/// bits of a run depend on its replicas and their threads.
struct TrialShare {
  std::size_t all_cores = 1, all_gpus = 0;
  std::size_t cores = 1, gpus = 0;  ///< of a trial
};

/// An equal share for each of so many trials at a time, of whole cores and GPUs; of fewer cores than trials, one each.
/// `strategy`: of the trials, which use no GPU where it lists CPUs alone. Throws UsageError where there are GPUs to
/// use, but fewer than trials, or where it lists one beyond the share.
TrialShare share_of_machine(const Machine& machine, int trials, const StrategyOptions& strategy);

/// Throws UsageError if this machine has too few GPUs for so many trials at a time: a study keeps the share that it
/// began with, and may be continued with more trials at a time or on another machine.
void require_gpus_for(const TrialShare& share, const Machine& machine, int trials);

/// The parts of this machine for so many trials at a time. If the machine has fewer cores than the shares need, every
/// trial may use all of them.
std::vector<launch::MachinePart> parts_of(const Machine& machine, const TrialShare& share, int trials);

/// The keys of `strategy` with which a run gives the same bits on any machine: its devices, replicas and the threads of
/// a replica. They are those that a run would have alone on the whole machine, its replicas on as few devices as a
/// share has room for; or, where a replica has more threads than a share has cores, and with mesh and pipeline, those
/// that it would have on a share. Throws UsageError as make_topology.
std::vector<std::string> pinned_strategy(const Configuration& values, const Machine& machine, const TrialShare& share);

}  // namespace mirrortrain::tune
