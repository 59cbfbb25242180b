#pragma once

#include "model/optimizers/options.h"

namespace mirrortrain::optimizers {

/// Adds the keys of Adam's own hyperparameters, which its variants share.
template <class Options>
config::Section<Options> with_adam_keys(config::Section<Options> section) {
  return section
      .key("beta_1", &Options::beta_1, "Exponential decay rate of the 1st moment estimates.", config::at_least(0),
           config::less_than(1))
      .key("beta_2", &Options::beta_2, "Exponential decay rate of the 2nd moment estimates.", config::at_least(0),
           config::less_than(1))
      .key("epsilon", &Options::epsilon,
           "A small constant for numerical stability, added to the square root of the 2nd moment.",
           config::at_least(0));
}

template <>
struct Options<scalar::Adam> : scalar::Adam {
  static constexpr std::string_view kName = "adam";
  LearningRate learning_rate = 0.001;

  static config::Section<Options> section() {
    return with_adam_keys(section_of<Options>("The Adam optimizer (Kingma and Ba, 2014)."));
  }
};
using Adam = Options<scalar::Adam>;

template <>
struct Options<scalar::AdamW> : scalar::AdamW {
  static constexpr std::string_view kName = "adamw";
  LearningRate learning_rate = 0.001;

  static config::Section<Options> section() {
    return with_adam_keys(section_of<Options>("Adam with decoupled weight decay (Loshchilov and Hutter, 2017).")
                              .key("weight_decay", &Options::weight_decay,
                                   "Weight decay: each update first subtracts learning_rate * weight_decay * weight.",
                                   config::at_least(0)));
  }
};
using AdamW = Options<scalar::AdamW>;

}  // namespace mirrortrain::optimizers
