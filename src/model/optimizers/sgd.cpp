#include "model/optimizers/sgd.h"

namespace mirrortrain::optimizers {

config::Section<Sgd> Sgd::section() {
  return config::Section<Sgd>("Stochastic gradient descent, with optional momentum.")
      .key("momentum", &Sgd::momentum, "Momentum that accelerates gradient descent; 0: plain gradient descent.",
           config::between(0, 1))
      .key("nesterov", &Sgd::nesterov, "Whether to apply Nesterov momentum.")
      .include<OptimizerCommon>();
}

}  // namespace mirrortrain::optimizers
