#include "model/learning_rate.h"

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

}  // namespace mirrortrain
