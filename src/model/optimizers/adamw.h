#pragma once

#include <string_view>

#include "config/section.h"
#include "model/learning_rate.h"
#include "model/update_rule.h"

namespace mirrortrain::optimizers {

struct AdamW {
  static constexpr std::string_view kName = "adamw";
  LearningRate learning_rate = 0.001;
  float weight_decay = 0.004f;
  float beta_1 = 0.9f, beta_2 = 0.999f, epsilon = 1e-7f;

  UpdateRule rule() const;
  static config::Section<AdamW> section();
};

}  // namespace mirrortrain::optimizers
