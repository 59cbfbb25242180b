#pragma once

#include <string_view>

#include "config/section.h"
#include "graph/ops/loss.h"
#include "model/losses/targets.h"

namespace mirrortrain::losses {

struct MeanSquaredError {
  static constexpr std::string_view kName = "mean_squared_error";
  static constexpr Targets kTargets = Targets::kNumbers;

  ops::Loss op() const { return ops::Loss(ops::LossKind::kMeanSquaredError); }

  static config::Section<MeanSquaredError> section() {
    return config::Section<MeanSquaredError>("Mean squared error: the mean of (output - label)^2.");
  }
};

}  // namespace mirrortrain::losses
