#include "model/optimizers/adaptive.h"

#include "model/key_aliases.h"

namespace mirrortrain::optimizers {

config::Section<Rmsprop> Rmsprop::section() {
  return config::Section<Rmsprop>("RMSprop: divides by the root of the moving mean of squared gradients.")
      .key("rho", &Rmsprop::rho, "Decay rate of the moving means.", config::between(0, 1), kRhoAliases)
      .key("momentum", &Rmsprop::momentum, "Momentum that is added to each step; 0: none.", config::between(0, 1))
      .key("epsilon", &Rmsprop::epsilon, kEpsilonHelp, config::at_least(0), kEpsilonAliases)
      .key("centered", &Rmsprop::centered,
           "Whether to divide by the gradients' estimated variance instead of their second moment.")
      .include<OptimizerCommon>();
}

config::Section<Adagrad> Adagrad::section() {
  return config::Section<Adagrad>("Adagrad: divides by the root of the sum of squared gradients (Duchi et al., 2011).")
      .key("initial_accumulator_value", &Adagrad::initial_accumulator_value, "Initial value of the sums.",
           config::at_least(0))
      .key("epsilon", &Adagrad::epsilon, kEpsilonHelp, config::at_least(0), kEpsilonAliases)
      .include<OptimizerCommon>();
}

config::Section<Adadelta> Adadelta::section() {
  return config::Section<Adadelta>(
             "Adadelta: steps in the ratio of the moving means of squared steps and gradients (Zeiler, 2012).")
      .key("rho", &Adadelta::rho, "Decay rate of the moving means.", config::between(0, 1), kRhoAliases)
      .key("epsilon", &Adadelta::epsilon, kEpsilonHelp, config::at_least(0), kEpsilonAliases)
      .include<OptimizerCommon>();
}

config::Section<Ftrl> Ftrl::section() {
  return config::Section<Ftrl>("Follow the regularized leader (McMahan et al., 2013).")
      .key("learning_rate_power", &Ftrl::learning_rate_power,
           "Power of the sum of squared gradients by which the learning rate decreases.", config::at_most(0))
      .key("initial_accumulator_value", &Ftrl::initial_accumulator_value, "Initial value of these sums.",
           config::at_least(0))
      .key("l1_regularization_strength", &Ftrl::l1_regularization_strength, "L1 regularization.", config::at_least(0))
      .key("l2_regularization_strength", &Ftrl::l2_regularization_strength, "L2 regularization.", config::at_least(0))
      .key("l2_shrinkage_regularization_strength", &Ftrl::l2_shrinkage_regularization_strength,
           "L2 regularization that is added to the gradients.", config::at_least(0))
      .key("beta", &Ftrl::beta, "Added to the root of the sums.", config::at_least(0))
      .include<OptimizerCommon>();
}

config::Section<Adafactor> Adafactor::section() {
  using Self = Adafactor;
  return config::Section<Self>(
             "Adafactor: Adam that keeps of a matrix's squared gradients the means over rows and columns alone "
             "(Shazeer and Stern, 2018).")
      .key("beta_2_decay", &Self::beta_2_decay,
           "Power of the number of updates by which the weight of the newest squared gradients decreases.",
           config::at_most(0))
      .key("epsilon_1", &Self::epsilon_1, "A small constant that is added to the squared gradients.",
           config::at_least(0))
      .key("epsilon_2", &Self::epsilon_2, "The least root mean square of a variable by which its step is scaled.",
           config::at_least(0))
      .key("clip_threshold", &Self::clip_threshold, "The root mean square of a step, before the rate, is at most this.",
           config::greater_than(0))
      .key("relative_step", &Self::relative_step,
           "Whether the learning rate is at most the inverse square root of the number of updates.")
      .include<OptimizerCommon>();
}

config::Section<Lion> Lion::section() {
  return config::Section<Lion>("Lion: steps of one size, by the sign of momentum and gradient (Chen et al., 2023).")
      .key("beta_1", &Lion::beta_1, "Weight of the momentum in the direction; that of the gradient is 1 - beta_1.",
           config::greater_than(0), config::at_most(1), kBeta1Aliases)
      .key("beta_2", &Lion::beta_2, "Exponential decay rate of the momentum.", config::between(0, 1), kBeta2Aliases)
      .include<OptimizerCommon>();
}

}  // namespace mirrortrain::optimizers
