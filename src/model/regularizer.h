#pragma once

#include "config/section.h"

namespace mirrortrain {

/// l1 sum|w| + l2 sum(w^2) is added to the loss, without a factor 1/2, as in Keras.
struct Regularizer {
  double l1 = 0, l2 = 0;

  static config::Section<Regularizer> section() {
    return config::Section<Regularizer>("What a layer's kernel adds to the loss: l1 sum|w| + l2 sum(w^2).")
        .key("l1", &Regularizer::l1, "Factor of the sum of absolute values.", config::at_least(0))
        .key("l2", &Regularizer::l2, "Factor of the sum of squares (no 1/2).", config::at_least(0));
  }
};

}  // namespace mirrortrain
