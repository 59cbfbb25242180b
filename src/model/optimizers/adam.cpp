#include "model/optimizers/adam.h"

namespace mirrortrain::optimizers {

config::Section<Adam> Adam::section() {
  return config::Section<Adam>("Adam (Kingma and Ba, 2014).")
      .key("learning_rate", &Adam::learning_rate, "The rate, or its schedule.")
      .key("beta_1", &Adam::beta_1, "What the mean of gradients keeps in a step.", config::at_least(0),
           config::less_than(1))
      .key("beta_2", &Adam::beta_2, "What the mean of squares keeps in a step.", config::at_least(0),
           config::less_than(1))
      .key("epsilon", &Adam::epsilon, "Added to the root of the mean of squares.", config::at_least(0))
      .check("learning_rate", [](const Adam& options) { return complaint_about(options.learning_rate); });
}

UpdateRule Adam::rule() const {
  return {.kind = UpdateRule::Kind::kAdam, .beta_1 = beta_1, .beta_2 = beta_2, .epsilon = epsilon};
}

}  // namespace mirrortrain::optimizers
