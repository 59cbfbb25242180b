#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/section.h"
#include "kernels/scalar/update_rules.h"
#include "model/learning_rate.h"

namespace mirrortrain::optimizers {

/// A learning rate factor for the weights whose names match.
struct LearningRateFactor {
  std::string match;
  double factor = 1;
  static config::Section<LearningRateFactor> section();
};

/// The options that every optimizer has. An optimizer derives from its rule, for its own hyperparameters, and from
/// this, and ends its section with `.include<OptimizerCommon>()`.
struct OptimizerCommon {
  config::Located<std::optional<std::string>> match;
  LearningRate learning_rate;
  std::optional<double> weight_decay;
  std::vector<config::Located<std::string>> exclude_from_weight_decay;
  std::vector<config::Located<LearningRateFactor>> learning_rate_factors;
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<std::int64_t> ema_overwrite_frequency;
  std::optional<double> clipnorm;
  std::optional<double> loss_scale_factor;

  OptimizerCommon() : OptimizerCommon(0.001) {}
  explicit OptimizerCommon(double rate, std::optional<double> decay = std::nullopt)
      : learning_rate(rate), weight_decay(decay) {}
  static config::Section<OptimizerCommon> section();
};

}  // namespace mirrortrain::optimizers
