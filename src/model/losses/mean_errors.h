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

struct MeanAbsoluteError {
  static constexpr std::string_view kName = "mean_absolute_error";
  static constexpr Targets kTargets = Targets::kNumbers;

  ops::Loss op() const { return ops::Loss(ops::LossKind::kMeanAbsoluteError); }

  static config::Section<MeanAbsoluteError> section() {
    return config::Section<MeanAbsoluteError>("Mean absolute error: the mean of |output - label|.");
  }
};

struct Huber {
  static constexpr std::string_view kName = "huber";
  static constexpr Targets kTargets = Targets::kNumbers;
  double delta = 1;

  ops::Loss op() const {
    ops::Loss loss(ops::LossKind::kHuber);
    loss.delta = static_cast<float>(delta);
    return loss;
  }

  static config::Section<Huber> section() {
    return config::Section<Huber>(
               "Huber loss: the mean of (output - label)^2 / 2 for errors up to `delta`, linear for larger ones.")
        .key("delta", &Huber::delta, "The error from which the loss is linear.", config::greater_than(0));
  }
};

struct LogCosh {
  static constexpr std::string_view kName = "log_cosh";
  static constexpr Targets kTargets = Targets::kNumbers;

  ops::Loss op() const { return ops::Loss(ops::LossKind::kLogCosh); }

  static config::Section<LogCosh> section() {
    return config::Section<LogCosh>("The mean of the logarithm of the hyperbolic cosine of (output - label).");
  }
};

}  // namespace mirrortrain::losses
