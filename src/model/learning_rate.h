#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "config/section.h"

namespace mirrortrain {

namespace schedules {

/// Keras's CosineDecay: where warmup_target is given, a line from initial_learning_rate to it in warmup_steps; then
/// half a cosine down to alpha times the rate reached, in decay_steps.
struct CosineDecay {
  static constexpr std::string_view kName = "cosine_decay";
  double initial_learning_rate = 0;
  std::int64_t decay_steps = 0;
  double alpha = 0;
  std::optional<double> warmup_target;
  std::int64_t warmup_steps = 0;

  static config::Section<CosineDecay> section();
  double at(std::int64_t steps_done) const;
};

}  // namespace schedules

/// A number, or one of the list of schedules.
using LearningRate = std::variant<double, schedules::CosineDecay>;

/// What is wrong with it as an optimizer's option, or "".
std::string complaint_about(const LearningRate& learning_rate);

/// The rate of step `step`, counted from 1: a schedule is asked for step - 1, as in Keras.
double learning_rate_at(const LearningRate& learning_rate, std::int64_t step);

}  // namespace mirrortrain

template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::LearningRate> {
  static constexpr std::string_view tag = "schedule";
  static constexpr std::string_view noun = "a schedule";
  static constexpr auto planned =
      std::to_array<std::string_view>({"exponential_decay", "polynomial_decay", "piecewise_constant"});
};
