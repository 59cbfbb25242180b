#include "model/optimizers/sgd.h"

namespace mirrortrain::optimizers {

config::Section<Sgd> Sgd::section() {
  return config::Section<Sgd>("Gradient descent.")
      .key("learning_rate", &Sgd::learning_rate, "The rate, or its schedule.")
      .key("momentum", &Sgd::momentum, "What the velocity keeps in a step; 0: no velocity.", config::between(0, 1))
      .key("nesterov", &Sgd::nesterov, "Whether the gradient is applied ahead, along the velocity.")
      .check("learning_rate", [](const Sgd& options) { return complaint_about(options.learning_rate); });
}

UpdateRule Sgd::rule() const {
  if (momentum == 0) return {.kind = UpdateRule::Kind::kSgd};  // nesterov or not: no velocity, the same step
  return {.kind = nesterov ? UpdateRule::Kind::kSgdNesterov : UpdateRule::Kind::kSgdMomentum, .momentum = momentum};
}

}  // namespace mirrortrain::optimizers
