#pragma once

#include "config/section.h"

namespace mirrortrain {

/// l1 sum|w| + l2 sum(w^2) is added to the loss, without a factor 1/2, as in Keras.
struct Regularizer {
  double l1 = 0, l2 = 0;

  static config::Section<Regularizer> section() {
    return config::Section<Regularizer>("L1 and L2 regularization: adds l1 * sum(|w|) + l2 * sum(w^2) to the loss.")
        .key("l1", &Regularizer::l1, "L1 regularization factor.", config::at_least(0))
        .key("l2", &Regularizer::l2, "L2 regularization factor, without a factor of 1/2.", config::at_least(0));
  }
};

}  // namespace mirrortrain
