#pragma once

#include <functional>
#include <memory>
#include <string>

#include "strategy/mirrored/mirrored_strategy.h"
#include "train/configuration/configuration.h"

namespace mirrortrain {

/// The hardware of a run.
struct Hardware {
  Machine machine;
  Cluster cluster;
  std::function<std::shared_ptr<const Backend>(const Topology&, const TrainingOptions&)> backend;
  decltype(MirroredParts::communicators) communicators;
  std::function<std::string()> why_no_nccl;  ///< as a sentence; nothing if NCCL can be used
};

/// This machine's CPUs and GPUs.
Hardware this_hardware();

}  // namespace mirrortrain
