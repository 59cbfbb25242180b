#include "model/regularizer.h"

namespace mirrortrain {

config::Section<Regularizer> Regularizer::section() {
  return config::Section<Regularizer>("L1 and L2 regularization: adds l1 * sum(|w|) + l2 * sum(w^2) to the loss.")
      .advice("orthogonal_regularizer",
              "a regularizer of the angles between rows or columns is not available; take {l2: 0.01}, and the "
              "initializer orthogonal")
      .key("l1", &Regularizer::l1, "L1 regularization factor.", config::at_least(0))
      .key("l2", &Regularizer::l2, "L2 regularization factor, without a factor of 1/2.", config::at_least(0));
}

}  // namespace mirrortrain
