#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "config/section.h"
#include "model/schedules.h"

namespace mirrortrain {

/// A number, or one of the list of schedules.
using LearningRate =
    std::variant<double, schedules::CosineDecay, schedules::CosineDecayRestarts, schedules::ExponentialDecay,
                 schedules::InverseTimeDecay, schedules::PiecewiseConstant, schedules::PolynomialDecay>;

/// The rate of step `step`, counted from 1: a schedule is evaluated at step - 1, as in Keras.
double learning_rate_at(const LearningRate& learning_rate, std::int64_t step);

}  // namespace mirrortrain

template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::LearningRate> {
  static constexpr std::string_view tag = "schedule";
  static constexpr std::string_view noun = "a schedule";
};
