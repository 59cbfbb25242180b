#pragma once

#include <string_view>

#include "config/section.h"
#include "graph/ops/metric.h"
#include "model/losses.h"

namespace mirrortrain::metrics {

/// The share of right answers, in the sense that fits the loss: yes or no above a probability of 0.5 (a logit of 0), or
/// the class with the largest output. For losses that are no crossentropy the output decides, as in Keras: one output
/// is yes or no.
struct Accuracy {
  static constexpr std::string_view kName = "accuracy";

  ops::Metric op(const Loss& loss, const Shape& output) const;

  static config::Section<Accuracy> section() {
    return config::Section<Accuracy>("The share of right answers, in the sense that fits the loss.");
  }
};

}  // namespace mirrortrain::metrics
