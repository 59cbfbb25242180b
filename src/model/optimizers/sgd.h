#pragma once

#include <string_view>

#include "config/section.h"
#include "model/learning_rate.h"
#include "model/update_rule.h"

namespace mirrortrain::optimizers {

struct Sgd {
  static constexpr std::string_view kName = "sgd";
  LearningRate learning_rate = 0.01;
  float momentum = 0;
  bool nesterov = false;

  UpdateRule rule() const;
  static config::Section<Sgd> section();
};

}  // namespace mirrortrain::optimizers
