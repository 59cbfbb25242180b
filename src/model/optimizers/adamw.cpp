#include "model/optimizers/adamw.h"

namespace mirrortrain::optimizers {

config::Section<AdamW> AdamW::section() {
  return config::Section<AdamW>("Adam with weight decay of its own (Loshchilov and Hutter, 2017).")
      .key("learning_rate", &AdamW::learning_rate, "The rate, or its schedule.")
      .key("weight_decay", &AdamW::weight_decay, "Share of a weight, times the rate, taken off before each update.",
           config::at_least(0))
      .key("beta_1", &AdamW::beta_1, "What the mean of gradients keeps in a step.", config::at_least(0),
           config::less_than(1))
      .key("beta_2", &AdamW::beta_2, "What the mean of squares keeps in a step.", config::at_least(0),
           config::less_than(1))
      .key("epsilon", &AdamW::epsilon, "Added to the root of the mean of squares.", config::at_least(0))
      .check("learning_rate", [](const AdamW& options) { return complaint_about(options.learning_rate); });
}

UpdateRule AdamW::rule() const {
  return {.kind = UpdateRule::Kind::kAdamW,
          .beta_1 = beta_1,
          .beta_2 = beta_2,
          .epsilon = epsilon,
          .weight_decay = weight_decay};
}

}  // namespace mirrortrain::optimizers
