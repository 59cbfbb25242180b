#pragma once

#include <string_view>

#include "config/section.h"
#include "graph/ops/metric.h"
#include "model/losses.h"

namespace mirrortrain::metrics {

/// How often predictions equal labels, in the sense that fits the loss: true above a probability of 0.5 (a logit of 0),
/// or the class with the largest output. For losses that are no crossentropy the output decides, as in Keras: one
/// output is true or false.
struct Accuracy {
  static constexpr std::string_view kName = "accuracy";

  ops::Metric op(const Loss& loss, const Shape& output) const;

  static config::Section<Accuracy> section() {
    return config::Section<Accuracy>(
        "How often predictions equal labels: binary, categorical or sparse categorical accuracy, by the loss.");
  }
};

}  // namespace mirrortrain::metrics
