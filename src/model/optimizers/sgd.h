#pragma once

#include <array>

#include "model/optimizers/options.h"

namespace mirrortrain::optimizers {

struct Sgd : scalar::Sgd, OptimizerCommon {
  using Rule = scalar::Sgd;
  static constexpr std::string_view kName = "sgd";
  static constexpr auto kAdvice =
      std::to_array<config::Advice>({{"momentum", "write {type: sgd, momentum: 0.9}"},
                                     {"nag, nesterov", "write {type: sgd, momentum: 0.9, nesterov: true}"}});
  Sgd() : OptimizerCommon(0.01) {}

  static config::Section<Sgd> section();
};

}  // namespace mirrortrain::optimizers
