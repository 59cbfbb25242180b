#pragma once

#include "model/optimizers/options.h"

namespace mirrortrain::optimizers {

template <>
struct Options<scalar::Sgd> : scalar::Sgd {
  static constexpr std::string_view kName = "sgd";
  LearningRate learning_rate = 0.01;

  static config::Section<Options> section() {
    return section_of<Options>("Gradient descent.")
        .key("momentum", &Options::momentum, "What the velocity keeps in a step; 0: no velocity.",
             config::between(0, 1))
        .key("nesterov", &Options::nesterov, "Whether the gradient is applied ahead, along the velocity.");
  }
};
using Sgd = Options<scalar::Sgd>;

}  // namespace mirrortrain::optimizers
