#include "strategy/step_plan.h"

namespace mirrortrain {
namespace {

double seconds_between(StepPlan::Clock::time_point start, StepPlan::Clock::time_point end) {
  return std::chrono::duration<double>(end - start).count();
}

}  // namespace

void StepPlan::run(Clock::time_point step_start) {
  auto last = Clock::now();
  waited_seconds_ += seconds_between(step_start, last);
  for (Action& action : actions_) {
    const bool timed = profiling_ || action.waits;
    if (timed) last = Clock::now();
    action.run();
    if (!timed) continue;
    const double seconds = seconds_between(last, Clock::now());
    action.seconds += seconds;
    if (action.waits) waited_seconds_ += seconds;
  }
  seconds_ += seconds_between(step_start, Clock::now());
}

std::vector<StepPlan::ActionTime> StepPlan::action_times() const {
  std::vector<ActionTime> times;
  for (const Action& action : actions_) times.push_back({action.name, action.seconds});
  return times;
}

}  // namespace mirrortrain
