#pragma once

#include <array>

#include "model/optimizers/options.h"

namespace mirrortrain::optimizers {

struct Adam : scalar::Adam, OptimizerCommon {
  using Rule = scalar::Adam;
  static constexpr std::string_view kName = "adam";
  static constexpr auto kAdvice = std::to_array<config::Advice>({{"amsgrad", "write {type: adam, amsgrad: true}"}});

  static config::Section<Adam> section();
};

struct AdamW : scalar::Adam, OptimizerCommon {
  using Rule = scalar::Adam;
  static constexpr std::string_view kName = "adamw";
  AdamW() : OptimizerCommon(0.001, 0.004) {}

  static config::Section<AdamW> section();
};

struct Adamax : scalar::Adamax, OptimizerCommon {
  using Rule = scalar::Adamax;
  static constexpr std::string_view kName = "adamax";

  static config::Section<Adamax> section();
};

struct Nadam : scalar::Nadam, OptimizerCommon {
  using Rule = scalar::Nadam;
  static constexpr std::string_view kName = "nadam";

  static config::Section<Nadam> section();
};

struct Lamb : scalar::Lamb, OptimizerCommon {
  using Rule = scalar::Lamb;
  static constexpr std::string_view kName = "lamb";

  static config::Section<Lamb> section();
};

struct ScheduleFreeAdamW : scalar::ScheduleFreeAdam, OptimizerCommon {
  using Rule = scalar::ScheduleFreeAdam;
  static constexpr std::string_view kName = "schedule_free_adamw";
  static constexpr std::string_view kAliases = "schedule_free, schedulefree_adamw";
  ScheduleFreeAdamW() : OptimizerCommon(0.0025) {}

  static config::Section<ScheduleFreeAdamW> section();
};

}  // namespace mirrortrain::optimizers
