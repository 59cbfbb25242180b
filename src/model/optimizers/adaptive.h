#pragma once

#include "model/optimizers/options.h"

// Optimizers that scale each weight's step by its past gradients, and Lion.
namespace mirrortrain::optimizers {

inline constexpr std::string_view kEpsilonHelp =
    "A small constant for numerical stability, added below the square root that the step is divided by.";

struct Rmsprop : scalar::Rmsprop, OptimizerCommon {
  using Rule = scalar::Rmsprop;
  static constexpr std::string_view kName = "rmsprop";

  static config::Section<Rmsprop> section();
};

struct Adagrad : scalar::Adagrad, OptimizerCommon {
  using Rule = scalar::Adagrad;
  static constexpr std::string_view kName = "adagrad";

  static config::Section<Adagrad> section();
};

struct Adadelta : scalar::Adadelta, OptimizerCommon {
  using Rule = scalar::Adadelta;
  static constexpr std::string_view kName = "adadelta";

  static config::Section<Adadelta> section();
};

struct Ftrl : scalar::Ftrl, OptimizerCommon {
  using Rule = scalar::Ftrl;
  static constexpr std::string_view kName = "ftrl";

  static config::Section<Ftrl> section();
};

struct Adafactor : scalar::Adafactor, OptimizerCommon {
  using Rule = scalar::Adafactor;
  static constexpr std::string_view kName = "adafactor";

  static config::Section<Adafactor> section();
};

struct Lion : scalar::Lion, OptimizerCommon {
  using Rule = scalar::Lion;
  static constexpr std::string_view kName = "lion";

  static config::Section<Lion> section();
};

}  // namespace mirrortrain::optimizers
