#include "model/optimizers/adam.h"

#include "model/key_aliases.h"

namespace mirrortrain::optimizers {
namespace {

// Adds the keys of Adam's hyperparameters, which its variants share.
template <class Options>
config::Section<Options> with_adam_keys(config::Section<Options> section) {
  return section
      .key("beta_1", &Options::beta_1, "Exponential decay rate of the 1st moment estimates.", config::at_least(0),
           config::less_than(1), kBeta1Aliases)
      .key("beta_2", &Options::beta_2, "Exponential decay rate of the 2nd moment estimates.", config::at_least(0),
           config::less_than(1), kBeta2Aliases)
      .key("epsilon", &Options::epsilon,
           "A small constant for numerical stability, added to what the step is divided by.", config::at_least(0),
           kEpsilonAliases);
}

}  // namespace

config::Section<Adam> Adam::section() {
  return with_adam_keys(config::Section<Adam>("The Adam optimizer (Kingma and Ba, 2014)."))
      .advice("betas", "write beta_1: 0.9, beta_2: 0.999, each a key of its own")
      .key("amsgrad", &Adam::amsgrad, "Whether to divide by the largest 2nd moment so far (AMSGrad).")
      .include<OptimizerCommon>();
}

config::Section<AdamW> AdamW::section() {
  return with_adam_keys(config::Section<AdamW>("Adam with decoupled weight decay (Loshchilov and Hutter, 2017)."))
      .key("amsgrad", &AdamW::amsgrad, "Whether to divide by the largest 2nd moment so far (AMSGrad).")
      .include<OptimizerCommon>();
}

config::Section<Adamax> Adamax::section() {
  return with_adam_keys(
             config::Section<Adamax>("Adam with the infinity norm instead of the 2nd moment (Kingma and Ba, 2014)."))
      .include<OptimizerCommon>();
}

config::Section<Nadam> Nadam::section() {
  return with_adam_keys(config::Section<Nadam>("Adam with Nesterov momentum (Dozat, 2015)."))
      .include<OptimizerCommon>();
}

config::Section<Lamb> Lamb::section() {
  return with_adam_keys(
             config::Section<Lamb>(
                 "Adam with a step scaled to the norm of each variable, for large batches (You et al., 2019)."))
      .include<OptimizerCommon>();
}

config::Section<ScheduleFreeAdamW> ScheduleFreeAdamW::section() {
  using Self = ScheduleFreeAdamW;
  return with_adam_keys(
             config::Section<Self>(
                 "AdamW that needs no learning rate schedule, by averaging its steps (Defazio et al., 2024)."))
      .key("warmup_steps", &Self::warmup_steps, "Updates during which the learning rate grows linearly from 0.",
           config::at_least(0), config::aliases("num_warmup_steps"))
      .check("beta_1", [](const Self& adam) { return std::string(adam.beta_1 == 0 ? "expected more than 0" : ""); })
      .include<OptimizerCommon>();
}

}  // namespace mirrortrain::optimizers
