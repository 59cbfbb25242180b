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

/// Keras's CosineDecay: where warmup_target is given, a linear warmup from initial_learning_rate to it over
/// warmup_steps; then cosine decay to alpha times the rate reached, over decay_steps.
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

/// Why an optimizer cannot use it, or "".
std::string learning_rate_error(const LearningRate& learning_rate);

/// The rate of step `step`, counted from 1: a schedule is evaluated at step - 1, as in Keras.
double learning_rate_at(const LearningRate& learning_rate, std::int64_t step);

}  // namespace mirrortrain

template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::LearningRate> {
  static constexpr std::string_view tag = "schedule";
  static constexpr std::string_view noun = "a schedule";
  static constexpr auto planned =
      std::to_array<std::string_view>({"exponential_decay", "polynomial_decay", "piecewise_constant"});
};
