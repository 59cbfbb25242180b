#include "model/losses/mean_errors.h"

namespace mirrortrain::losses {

config::Section<MeanSquaredError> MeanSquaredError::section() {
  return config::Section<MeanSquaredError>("Mean squared error: the mean of (output - label)^2.").include<LossCommon>();
}

config::Section<MeanAbsoluteError> MeanAbsoluteError::section() {
  return config::Section<MeanAbsoluteError>("Mean absolute error: the mean of |output - label|.").include<LossCommon>();
}

config::Section<Huber> Huber::section() {
  return config::Section<Huber>(
             "Huber loss: the mean of (output - label)^2 / 2 for errors up to `delta`, linear for larger ones.")
      .key("delta", &Huber::delta, "The error from which the loss is linear.", config::greater_than(0))
      .include<LossCommon>();
}

config::Section<LogCosh> LogCosh::section() {
  return config::Section<LogCosh>("The mean of the logarithm of the hyperbolic cosine of (output - label).")
      .include<LossCommon>();
}

}  // namespace mirrortrain::losses
