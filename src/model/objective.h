#pragma once

#include <vector>

#include "config/by_name.h"
#include "config/errors.h"
#include "model/losses.h"
#include "model/metrics.h"
#include "model/wiring.h"

namespace mirrortrain {

using MetricList = config::Located<std::vector<config::Located<Metric>>>;
/// The keys `loss` and `metrics`: for the model's one output or, by name, for each.
using LossOptions = config::ByName<config::Located<Loss>>;
using MetricOptions = config::ByName<MetricList>;

/// What the labels of an output come with.
struct LabelTraits {
  /// Whether each example's loss has a weight.
  bool weighted_in_training = false, weighted_in_evaluation = false;
  std::int64_t batch = 1;       ///< the most examples of a global batch
  bool may_be_missing = false;  ///< then examples are weighted too, and metrics leave those without a label out
};

/// What an output of the model is trained for and measured by.
struct Objective {
  config::Located<Loss> loss;
  std::vector<config::Located<Metric>> metrics;
  LabelTraits labels{};
};

/// The objectives of the model's outputs, in their order; empty, with errors added, if there is not one for each: an
/// output without a loss, and a name that is no output's.
std::vector<Objective> objectives_of(const Wiring& wiring, const LossOptions& losses, const MetricOptions& metrics,
                                     config::Errors& errors);

}  // namespace mirrortrain
