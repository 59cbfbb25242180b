#include "strategy/steps/step_plan.h"

#include <spdlog/spdlog.h>

#include "base/error.h"

namespace mirrortrain {
namespace {

double seconds_between(Step::Clock::time_point start, Step::Clock::time_point end) {
  return std::chrono::duration<double>(end - start).count();
}

}  // namespace

void StepPlan::run(const Step& step) {
  late_seconds_ += seconds_between(step.start, Step::Clock::now());
  Recordings* captured = stream_ != nullptr && !wait_ ? &recordings_[step.key] : nullptr;
  for (std::size_t i = 0; i < actions_.size();) {
    if (captured == nullptr || !actions_[i].fixed) {
      run_action(actions_[i++], step);
      continue;
    }
    const std::size_t end = end_of_fixed(i);
    if (!actions_[i].is_left_out() && !run_fixed_group(i, end, step, *captured)) {
      captured = nullptr;
      continue;
    }
    i = end;
  }
  seconds_ += seconds_between(step.start, Step::Clock::now());
}

/// Enqueues the fixed actions [first, last) one by one the first time, then as one graph. Returns false, with nothing
/// enqueued, if they cannot be captured.
bool StepPlan::run_fixed_group(std::size_t first, std::size_t last, const Step& step, Recordings& captured) {
  const auto [found, is_first] = captured.try_emplace(first);
  if (is_first) {
    for (std::size_t action = first; action < last; ++action) actions_[action].run(step);
    return true;
  }
  if (!found->second) found->second = capture(first, last, step);
  if (!found->second) return false;
  found->second->enqueue(*stream_);
  return true;
}

/// Returns null on failure. Errors in the work itself show up when it is enqueued.
std::unique_ptr<Recording> StepPlan::capture(std::size_t first, std::size_t end, const Step& step) {
  try {
    return stream_->capture([&] {
      for (std::size_t action = first; action < end; ++action) actions_[action].run(step);
    });
  } catch (const Error& error) {
    spdlog::warn(
        "a step could not be captured, and is enqueued kernel by kernel, as with training.cuda_graph: never: {}",
        error.what());
    stream_ = nullptr;
    return nullptr;
  }
}

void StepPlan::run_fixed(const Step& step) {
  for (const Action& action : actions_) {
    if (action.fixed) action.run(step);
  }
}

void StepPlan::run_action(Action& action, const Step& step) {
  if (action.is_left_out()) return;
  if (!wait_) return action.run(step);
  const auto start = Step::Clock::now();
  const double waited_before = waited_();
  action.run(step);
  wait_();
  const double waited = waited_() - waited_before;
  waited_for_workers_ += waited;
  action.seconds += seconds_between(start, Step::Clock::now()) - waited;
}

/// One past the actions from this one on that are captured together.
std::size_t StepPlan::end_of_fixed(std::size_t first) const {
  const bool* const skips = actions_[first].skips;
  while (first < actions_.size() && actions_[first].fixed && actions_[first].skips == skips) ++first;
  return first;
}

std::vector<StepPlan::ActionTime> StepPlan::action_times() const {
  std::vector<ActionTime> times;
  for (const Action& action : actions_) times.push_back({action.name, action.seconds});
  if (waited_for_workers_ > 0) times.push_back({"wait for other workers", waited_for_workers_});
  return times;
}

}  // namespace mirrortrain
