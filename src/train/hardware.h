#pragma once

#include <functional>
#include <memory>
#include <string>

#include "strategy/strategy.h"
#include "train/configuration.h"

namespace mirrortrain {

/// What a run can compute on.
struct Hardware {
  Machine machine;
  std::function<std::shared_ptr<const Backend>(const Placement&, const TrainingOptions&)> backend;
  decltype(StrategyParts::communicators) communicators;
  std::function<std::string()> why_no_nccl;  ///< as a sentence, or nothing where NCCL can be used
};

/// This machine's CPUs and GPUs.
Hardware this_hardware();

/// The options with another operation in place of `auto` where that would take NCCL across several GPUs and there is
/// none.
StrategyOptions usable_options(const StrategyOptions& options, const Placement& placement, const Hardware& hardware);

}  // namespace mirrortrain
