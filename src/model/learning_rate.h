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

/// On keys and callbacks that other libraries have for schedules.
inline constexpr std::string_view kScheduleAdvice =
    "the learning rate follows a schedule given in its place: write optimizer: {type: adam, learning_rate: {schedule: "
    "cosine_decay, initial_learning_rate: 0.001, decay_steps: 1000}}";

/// The rate of step `step`, counted from 1: a schedule is evaluated at step - 1, as in Keras.
double learning_rate_at(const LearningRate& learning_rate, std::int64_t step);

}  // namespace mirrortrain

template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::LearningRate> {
  static constexpr std::string_view tag = "schedule";
  static constexpr std::string_view noun = "a schedule";
};
