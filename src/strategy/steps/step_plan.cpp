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
  bool captures = stream_ != nullptr && !wait_;
  const auto seen = recordings_.find(step.key);
  for (std::size_t i = 0; i < actions_.size();) {
    if (!captures || !actions_[i].fixed || seen == recordings_.end()) {
      run_action(actions_[i++], step);
      continue;
    }
    const std::size_t end = end_of_fixed(i);
    std::unique_ptr<Recording>& recording = seen->second[i];
    if (!recording) recording = capture(i, end, step);
    if (!recording) {
      captures = false;
      continue;
    }
    recording->enqueue(*stream_);
    i = end;
  }
  if (captures && seen == recordings_.end()) recordings_.try_emplace(step.key);
  seconds_ += seconds_between(step.start, Step::Clock::now());
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
  if (!wait_) return action.run(step);
  const auto start = Step::Clock::now();
  const double waited_before = waited_();
  action.run(step);
  wait_();
  const double waited = waited_() - waited_before;
  waited_for_workers_ += waited;
  action.seconds += seconds_between(start, Step::Clock::now()) - waited;
}

std::size_t StepPlan::end_of_fixed(std::size_t first) const {
  while (first < actions_.size() && actions_[first].fixed) ++first;
  return first;
}

std::vector<StepPlan::ActionTime> StepPlan::action_times() const {
  std::vector<ActionTime> times;
  for (const Action& action : actions_) times.push_back({action.name, action.seconds});
  if (waited_for_workers_ > 0) times.push_back({"wait for other workers", waited_for_workers_});
  return times;
}

}  // namespace mirrortrain
