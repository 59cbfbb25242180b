#include "strategy/steps/step_bursts.h"

#include <spdlog/spdlog.h>

#include "base/error.h"

namespace mirrortrain {

bool StepBursts::enqueue(const StepPlan::StepOfKind& kind, std::size_t first_slot,
                         const std::function<void()>& run_fixed) {
  Stream& stream = lane_.stream();
  std::unique_ptr<Recording>& recording = recordings_[{kind, first_slot}];
  StepInputs& inputs = lane_.inputs();
  const StepSums& sums = lane_.sums();
  try {
    if (!recording) {
      recording = stream.capture([&] {
        inputs.send_together(stream, first_slot, kSteps);
        for (std::size_t step = 0; step < kSteps; ++step) {
          // Picking the rows is what a step begins with.
          lane_.examples()->bring_along({inputs.select(step), step > 0 ? sums.keep(step - 1) : SmallCopy()});
          run_fixed();
        }
        inputs.select_none();
        const SmallCopy last = sums.keep(kSteps - 1);
        stream.copy(last.to, last.from, last.bytes);
        sums.send_together(stream, first_slot, kSteps);
      });
    }
  } catch (const Error& error) {
    inputs.select_none();
    lane_.examples()->bring_along({});
    spdlog::warn("{} steps could not be captured together, and are enqueued one by one: {}", kSteps, error.what());
    return false;
  }
  recording->enqueue(stream);
  return true;
}

}  // namespace mirrortrain
