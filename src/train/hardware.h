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

/// The options with what `auto` takes across several GPUs in its place: NCCL, or a ring of copies where there is none.
StrategyOptions usable_options(const StrategyOptions& options, const Placement& placement, const Hardware& hardware);

}  // namespace mirrortrain
