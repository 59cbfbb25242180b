#pragma once

#include <string_view>

#include "config/section.h"
#include "model/learning_rate.h"
#include "model/update_rule.h"

namespace mirrortrain::optimizers {

struct Adam {
  static constexpr std::string_view kName = "adam";
  LearningRate learning_rate = 0.001;
  float beta_1 = 0.9f, beta_2 = 0.999f, epsilon = 1e-7f;

  UpdateRule rule() const;
  static config::Section<Adam> section();
};

}  // namespace mirrortrain::optimizers
