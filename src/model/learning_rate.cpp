#include "model/learning_rate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace mirrortrain {

namespace schedules {

config::Section<CosineDecay> CosineDecay::section() {
  return config::Section<CosineDecay>("Cosine decay of the learning rate, with an optional linear warmup.")
      .key("initial_learning_rate", &CosineDecay::initial_learning_rate, "The initial learning rate.", config::required,
           config::at_least(0))
      .key("decay_steps", &CosineDecay::decay_steps, "Number of steps to decay over, after the warmup.",
           config::required, config::at_least(1))
      .key("alpha", &CosineDecay::alpha, "Minimum learning rate, as a fraction of the highest.")
      .key("warmup_target", &CosineDecay::warmup_target, "The learning rate at the end of the warmup; null: no warmup.",
           config::at_least(0))
      .key("warmup_steps", &CosineDecay::warmup_steps, "Number of warmup steps.", config::at_least(0))
      .check("warmup_steps", [](const CosineDecay& decay) -> std::string {
        return decay.warmup_steps > 0 && !decay.warmup_target
                   ? "a warmup needs `warmup_target`, the learning rate at its end"
                   : "";
      });
}

double CosineDecay::at(std::int64_t steps_done) const {
  const double highest = warmup_target.value_or(initial_learning_rate);
  auto step = static_cast<double>(steps_done);
  if (warmup_target) {
    const auto warmup = static_cast<double>(warmup_steps);
    if (step < warmup) return initial_learning_rate + (*warmup_target - initial_learning_rate) * (step / warmup);
    step -= warmup;
  }
  const double fraction = std::min(step / static_cast<double>(decay_steps), 1.0);
  return highest * ((1 - alpha) * 0.5 * (1 + std::cos(std::numbers::pi * fraction)) + alpha);
}

}  // namespace schedules

namespace {

/// The rate after `steps_done` steps, for each kind of learning rate.
struct RateAfter {
  std::int64_t steps_done;
  double operator()(double constant) const { return constant; }
  template <class Schedule>
  double operator()(const Schedule& schedule) const {
    return schedule.at(steps_done);
  }
};

}  // namespace

std::string learning_rate_error(const LearningRate& learning_rate) {
  const double* constant = std::get_if<double>(&learning_rate);
  return constant && *constant < 0 ? fmt::format("expected a learning rate of at least 0, found {}", *constant) : "";
}

double learning_rate_at(const LearningRate& learning_rate, std::int64_t step) {
  return std::visit(RateAfter{step - 1}, learning_rate);
}

}  // namespace mirrortrain
