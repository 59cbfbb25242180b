#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/section.h"

/// Keras's learning rate schedules. `at` returns the rate after so many steps. To add one: a struct here and its name
/// in the list below.
namespace mirrortrain::schedules {

/// If warmup_target is given, a linear warmup from initial_learning_rate to it over warmup_steps; then cosine decay to
/// alpha times the rate reached, over decay_steps.
struct CosineDecay {
  static constexpr std::string_view kName = "cosine_decay";
  static constexpr std::string_view kAliases = "cosine, cosine_annealing_lr";
  static constexpr auto kAdvice =
      std::to_array<config::Advice>({{"one_cycle, one_cycle_lr",
                                      "write {schedule: cosine_decay, initial_learning_rate: 0.001, warmup_target: "
                                      "0.01, warmup_steps: 1, decay_steps: 3}, which rises and falls once"}});
  double initial_learning_rate = 0;
  std::int64_t decay_steps = 0;
  double alpha = 0;
  std::optional<double> warmup_target;
  std::int64_t warmup_steps = 0;

  static config::Section<CosineDecay> section();
  double at(std::int64_t steps_done) const;
};

/// Repeated cosine decay; the n-th one, from 0, begins at m_mul^n times the rate and has t_mul^n times the steps.
struct CosineDecayRestarts {
  static constexpr std::string_view kName = "cosine_decay_restarts";
  static constexpr std::string_view kAliases = "cosine_restarts, cosine_annealing_warm_restarts";
  double initial_learning_rate = 0;
  std::int64_t first_decay_steps = 0;
  double t_mul = 2, m_mul = 1, alpha = 0;

  static config::Section<CosineDecayRestarts> section();
  double at(std::int64_t steps_done) const;
};

/// initial_learning_rate * decay_rate^(steps / decay_steps), the exponent rounded down with `staircase`.
struct ExponentialDecay {
  static constexpr std::string_view kName = "exponential_decay";
  static constexpr std::string_view kAliases = "exponential, exponential_lr";
  static constexpr auto kAdvice =
      std::to_array<config::Advice>({{"step_lr, step_decay, step",
                                      "write {schedule: exponential_decay, initial_learning_rate: 0.001, decay_steps: "
                                      "1000, decay_rate: 0.1, staircase: true}"}});
  double initial_learning_rate = 0;
  std::int64_t decay_steps = 0;
  double decay_rate = 0;
  bool staircase = false;

  static config::Section<ExponentialDecay> section();
  double at(std::int64_t steps_done) const;
};

/// initial_learning_rate / (1 + decay_rate * steps / decay_steps), the quotient rounded down with `staircase`.
struct InverseTimeDecay {
  static constexpr std::string_view kName = "inverse_time_decay";
  static constexpr std::string_view kAliases = "inverse_time";
  double initial_learning_rate = 0;
  std::int64_t decay_steps = 0;
  double decay_rate = 0;
  bool staircase = false;

  static config::Section<InverseTimeDecay> section();
  double at(std::int64_t steps_done) const;
};

/// values[i] up to and including boundaries[i] steps, then the next; values has one number more.
struct PiecewiseConstant {
  static constexpr std::string_view kName = "piecewise_constant";
  static constexpr std::string_view kAliases = "piecewise_constant_decay, piecewise, multi_step_lr";
  std::vector<std::int64_t> boundaries;
  std::vector<double> values;

  static config::Section<PiecewiseConstant> section();
  double at(std::int64_t steps_done) const;
};

/// From initial_learning_rate to end_learning_rate in decay_steps, along (1 - steps / decay_steps)^power; then
/// constant, or with `cycle` again from the start over the next multiple of decay_steps.
struct PolynomialDecay {
  static constexpr std::string_view kName = "polynomial_decay";
  static constexpr std::string_view kAliases = "polynomial, polynomial_lr, linear_lr";
  double initial_learning_rate = 0;
  std::int64_t decay_steps = 0;
  double end_learning_rate = 0.0001, power = 1;
  bool cycle = false;

  static config::Section<PolynomialDecay> section();
  double at(std::int64_t steps_done) const;
};

}  // namespace mirrortrain::schedules

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
/// The largest of a run of so many steps, as far as its beginning, its quarters and its end show.
double largest_rate(const LearningRate& learning_rate, std::int64_t steps);

}  // namespace mirrortrain

template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::LearningRate> {
  static constexpr std::string_view tag = "schedule";
  static constexpr std::string_view noun = "a schedule";
};
