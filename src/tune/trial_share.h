#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "launch/machine_part.h"
#include "strategy/topology.h"
#include "train/session/configuration.h"

namespace mirrortrain::tune {

/// What every trial of a study gets of the machine, the same for each, as it was when the study began: the bits of a
/// run depend on its replicas and their threads.
struct TrialShare {
  std::size_t cores = 1, gpus = 0;
};

/// An equal share for each of so many trials at a time, of whole cores and GPUs; of fewer cores than trials, one each.
/// Throws UsageError where there are GPUs, but fewer than trials.
TrialShare share_of_machine(const Machine& machine, int trials);

/// The parts of this machine for so many trials at a time. If the machine has fewer cores than the shares need, every
/// trial may use all of them.
std::vector<launch::MachinePart> parts_of(const Machine& machine, const TrialShare& share, int trials);

/// The keys of `strategy` that make a run with these values the same on any machine as on a share: the devices and the
/// threads of a replica, as they would be chosen there. Throws UsageError as make_topology.
std::vector<std::string> pinned_strategy(const Configuration& values, const Machine& machine, const TrialShare& share);

}  // namespace mirrortrain::tune
