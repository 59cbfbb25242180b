#pragma once

#include "model/optimizers/options.h"

namespace mirrortrain::optimizers {

template <>
struct Options<scalar::Sgd> : scalar::Sgd {
  static constexpr std::string_view kName = "sgd";
  LearningRate learning_rate = 0.01;

  static config::Section<Options> section() {
    return section_of<Options>("Stochastic gradient descent, with optional momentum.")
        .key("momentum", &Options::momentum, "Momentum that accelerates gradient descent; 0: plain gradient descent.",
             config::between(0, 1))
        .key("nesterov", &Options::nesterov, "Whether to apply Nesterov momentum.");
  }
};
using Sgd = Options<scalar::Sgd>;

}  // namespace mirrortrain::optimizers
