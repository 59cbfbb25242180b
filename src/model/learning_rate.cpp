#include "model/learning_rate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

namespace mirrortrain::schedules {
namespace {

constexpr auto kDecayStepsAliases = config::aliases("t_max, step_size");

/// A section with the first two keys of most schedules.
template <class Schedule>
config::Section<Schedule> decaying(std::string_view help) {
  return config::Section<Schedule>(help)
      .key("initial_learning_rate", &Schedule::initial_learning_rate, "The initial learning rate.", config::required,
           config::at_least(0))
      .key("decay_steps", &Schedule::decay_steps, "Number of steps of the decay.", config::required,
           config::at_least(1), kDecayStepsAliases);
}

template <class Schedule>
config::Section<Schedule> decaying_at_a_rate(std::string_view help) {
  return decaying<Schedule>(help)
      .key("decay_rate", &Schedule::decay_rate, "The decay rate.", config::required, config::at_least(0),
           config::aliases("gamma"))
      .key("staircase", &Schedule::staircase,
           "Whether to decay at the end of each `decay_steps` alone, instead of in every step.");
}

/// Half a cosine, from 1 to 0.
double cosine(double fraction) { return 0.5 * (1 + std::cos(std::numbers::pi * fraction)); }

double share(std::int64_t steps, std::int64_t of) { return static_cast<double>(steps) / static_cast<double>(of); }

std::string boundaries_error(const PiecewiseConstant& schedule) {
  const auto descends = std::ranges::adjacent_find(schedule.boundaries, std::greater_equal<>());
  return descends == schedule.boundaries.end()
             ? ""
             : fmt::format("expected ascending steps, found {} after {}", *(descends + 1), *descends);
}

std::string values_error(const PiecewiseConstant& schedule) {
  const std::size_t expected = schedule.boundaries.size() + 1, found = schedule.values.size();
  return expected == found
             ? ""
             : fmt::format("expected {} learning rates, one more than boundaries, found {}", expected, found);
}

}  // namespace

config::Section<CosineDecay> CosineDecay::section() {
  return config::Section<CosineDecay>("Cosine decay of the learning rate, with an optional linear warmup.")
      .key("initial_learning_rate", &CosineDecay::initial_learning_rate, "The initial learning rate.", config::required,
           config::at_least(0))
      .key("decay_steps", &CosineDecay::decay_steps, "Number of steps to decay over, after the warmup.",
           config::required, config::at_least(1), kDecayStepsAliases)
      .key("alpha", &CosineDecay::alpha, "Minimum learning rate, as a fraction of the highest.", config::at_least(0))
      .key("warmup_target", &CosineDecay::warmup_target, "The learning rate at the end of the warmup; null: no warmup.",
           config::at_least(0))
      .key("warmup_steps", &CosineDecay::warmup_steps, "Number of warmup steps.", config::at_least(0))
      .check("warmup_steps",
             [](const CosineDecay& decay) -> std::string {
               return decay.warmup_steps > 0 && !decay.warmup_target
                          ? "a warmup needs `warmup_target`, the learning rate at its end"
                          : "";
             })
      .check("warmup_target", [](const CosineDecay& decay) -> std::string {
        return decay.warmup_target && decay.warmup_steps == 0
                   ? "a warmup of no steps leaves out initial_learning_rate; give `warmup_steps`, or leave it out"
                   : "";
      });
}

double CosineDecay::at(std::int64_t steps_done) const {
  const double highest = warmup_target.value_or(initial_learning_rate);
  if (warmup_target) {
    if (steps_done < warmup_steps) {
      return initial_learning_rate + (*warmup_target - initial_learning_rate) * share(steps_done, warmup_steps);
    }
    steps_done -= warmup_steps;
  }
  return highest * ((1 - alpha) * cosine(std::min(share(steps_done, decay_steps), 1.0)) + alpha);
}

config::Section<CosineDecayRestarts> CosineDecayRestarts::section() {
  using Self = CosineDecayRestarts;
  return config::Section<Self>("Cosine decay of the learning rate that restarts each time it has reached its end.")
      .key("initial_learning_rate", &Self::initial_learning_rate, "The initial learning rate.", config::required,
           config::at_least(0))
      .key("first_decay_steps", &Self::first_decay_steps, "Number of steps of the first decay.", config::required,
           config::at_least(1))
      .key("t_mul", &Self::t_mul, "Factor from the steps of one decay to those of the next.", config::at_least(1))
      .key("m_mul", &Self::m_mul, "Factor from the initial learning rate of one decay to that of the next.",
           config::at_least(0))
      .key("alpha", &Self::alpha, "Minimum learning rate, as a fraction of the initial one.", config::at_least(0));
}

double CosineDecayRestarts::at(std::int64_t steps_done) const {
  double fraction = share(steps_done, first_decay_steps), restarts = std::floor(fraction);
  if (t_mul == 1) {
    fraction -= restarts;
  } else {
    // The n-th restart comes after 1 + t + ... + t^(n-1) lengths of the first decay.
    const auto begin = [&](double n) { return (1 - std::pow(t_mul, n)) / (1 - t_mul); };
    restarts = std::floor(std::log(1 - fraction * (1 - t_mul)) / std::log(t_mul));
    // The logarithm may miss a restart because of rounding.
    if (begin(restarts + 1) <= fraction * (1 + 1e-12)) ++restarts;
    fraction = std::max(0.0, fraction - begin(restarts)) / std::pow(t_mul, restarts);
  }
  return initial_learning_rate * ((1 - alpha) * std::pow(m_mul, restarts) * cosine(fraction) + alpha);
}

config::Section<ExponentialDecay> ExponentialDecay::section() {
  return decaying_at_a_rate<ExponentialDecay>(
      "Exponential decay: initial_learning_rate * decay_rate ^ (step / decay_steps).");
}

double ExponentialDecay::at(std::int64_t steps_done) const {
  const double exponent = share(steps_done, decay_steps);
  return initial_learning_rate * std::pow(decay_rate, staircase ? std::floor(exponent) : exponent);
}

config::Section<InverseTimeDecay> InverseTimeDecay::section() {
  return decaying_at_a_rate<InverseTimeDecay>(
      "Inverse time decay: initial_learning_rate / (1 + decay_rate * step / decay_steps).");
}

double InverseTimeDecay::at(std::int64_t steps_done) const {
  const double decays = share(steps_done, decay_steps);
  return initial_learning_rate / (1 + decay_rate * (staircase ? std::floor(decays) : decays));
}

config::Section<PiecewiseConstant> PiecewiseConstant::section() {
  using Self = PiecewiseConstant;
  return config::Section<Self>("Learning rates that are constant between given steps.")
      .key("boundaries", &Self::boundaries,
           "Numbers of steps, ascending: how many are done when the next learning rate begins, after one more step.",
           config::required, config::non_empty, config::at_least(0))
      .key("values", &Self::values, "The learning rates, one more than boundaries.", config::required,
           config::at_least(0))
      .check("boundaries", boundaries_error)
      .check("values", values_error);
}

double PiecewiseConstant::at(std::int64_t steps_done) const {
  const auto next = std::ranges::lower_bound(boundaries, steps_done);
  return values[static_cast<std::size_t>(next - boundaries.begin())];
}

config::Section<PolynomialDecay> PolynomialDecay::section() {
  using Self = PolynomialDecay;
  return decaying<Self>("Polynomial decay from one learning rate to another.")
      .key("end_learning_rate", &Self::end_learning_rate, "The learning rate at the end of the decay.",
           config::at_least(0))
      .key("power", &Self::power, "Power of the polynomial; 1: linear.", config::at_least(0))
      .key("cycle", &Self::cycle,
           "Whether to decay again from the start, over a longer time, when the end is reached; false: the end's "
           "learning rate stays.");
}

double PolynomialDecay::at(std::int64_t steps_done) const {
  double fraction = share(steps_done, decay_steps);
  if (cycle) {
    fraction /= std::max(1.0, std::ceil(fraction));
  } else {
    fraction = std::min(fraction, 1.0);
  }
  return (initial_learning_rate - end_learning_rate) * std::pow(1 - fraction, power) + end_learning_rate;
}

}  // namespace mirrortrain::schedules

namespace mirrortrain {
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

double learning_rate_at(const LearningRate& learning_rate, std::int64_t step) {
  return std::visit(RateAfter{step - 1}, learning_rate);
}

double largest_rate(const LearningRate& learning_rate, std::int64_t steps) {
  double largest = 0;
  for (const std::int64_t quarter : {0, 1, 2, 3, 4}) {
    largest = std::max(largest, learning_rate_at(learning_rate, std::max<std::int64_t>(1, steps * quarter / 4)));
  }
  return largest;
}

}  // namespace mirrortrain
