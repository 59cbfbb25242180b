#include "model/optimizers/sgd.h"

namespace mirrortrain::optimizers {

config::Section<Sgd> Sgd::section() {
  return config::Section<Sgd>("Stochastic gradient descent, with optional momentum.")
      .key("momentum", &Sgd::momentum, "Momentum that accelerates gradient descent; 0: plain gradient descent.",
           config::between(0, 1))
      .key("nesterov", &Sgd::nesterov, "Whether to apply Nesterov momentum.")
      .check("nesterov",
             [](const Sgd& sgd) -> std::string {
               return sgd.nesterov && sgd.momentum == 0 ? "without momentum it changes nothing; give a momentum, as 0.9"
                                                        : "";
             })
      .include<OptimizerCommon>();
}

}  // namespace mirrortrain::optimizers
