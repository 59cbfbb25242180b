#pragma once

#include "model/optimizers/options.h"

namespace mirrortrain::optimizers {

struct Sgd : scalar::Sgd, OptimizerCommon {
  using Rule = scalar::Sgd;
  static constexpr std::string_view kName = "sgd";
  Sgd() : OptimizerCommon(0.01) {}

  static config::Section<Sgd> section() {
    return config::Section<Sgd>("Stochastic gradient descent, with optional momentum.")
        .key("momentum", &Sgd::momentum, "Momentum that accelerates gradient descent; 0: plain gradient descent.",
             config::between(0, 1))
        .key("nesterov", &Sgd::nesterov, "Whether to apply Nesterov momentum.")
        .include<OptimizerCommon>();
  }
};

}  // namespace mirrortrain::optimizers
