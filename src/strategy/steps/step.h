#pragma once

#include <cstdint>
#include <span>

#include "data/feeder.h"
#include "kernels/scalar/update_group.h"
#include "strategy/steps/step_plan.h"
#include "strategy/variables/weight_update.h"

namespace mirrortrain {

/// One global batch to train on.
struct TrainBatch {
  const data::Feeder* examples = nullptr;  ///< may be null where there is no model
  std::span<const std::int64_t> rows;      ///< of the data set
  std::int64_t step = 0;                   ///< counts batches from 1
  UpdateStep update;                       ///< `examples` is filled in
};

struct EvaluationBatch {
  const data::Feeder* examples = nullptr;
  std::span<const std::int64_t> rows;
};

/// The step that the lanes work on, of training or evaluation: set before they begin, the same for all.
struct Step {
  TrainBatch batch;  ///< an evaluation has no update
  StepParams update_scalars;
  StepPlan::StepOfKind kind;
  std::size_t slot = 0;      ///< of its inputs and sums
  bool is_filled = false;    ///< its inputs lie in the slot already
  bool is_settling = false;  ///< among a kind's first, on devices that exchange something
};

}  // namespace mirrortrain
