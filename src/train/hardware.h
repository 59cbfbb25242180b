#pragma once

#include <functional>
#include <memory>

#include "strategy/strategy.h"
#include "train/configuration.h"

namespace mirrortrain {

/// What a run can compute on.
struct Hardware {
  Machine machine;
  std::function<std::shared_ptr<const Backend>(const Placement&, const TrainingOptions&)> backend;
  decltype(StrategyParts::communicators) communicators;
};

/// This machine's CPUs and GPUs.
Hardware this_hardware();

}  // namespace mirrortrain
