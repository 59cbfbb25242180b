#include "strategy/step_bursts.h"

#include <spdlog/spdlog.h>

#include "base/error.h"

namespace mirrortrain {

bool StepBursts::enqueue(const StepPlan::StepOfKind& kind, std::size_t first_slot,
                         const std::function<void()>& run_fixed) {
  Stream& stream = lane_.stream();
  std::unique_ptr<Recording>& recording = recordings_[{kind, first_slot}];
  try {
    if (!recording) {
      recording = stream.capture([&] {
        lane_.inputs().send_together(stream, first_slot, kSteps);
        for (std::size_t step = 0; step < kSteps; ++step) {
          lane_.inputs().select(stream, step);
          run_fixed();
          lane_.sums().keep(stream, step);
        }
        lane_.sums().send_together(stream, first_slot, kSteps);
      });
    }
  } catch (const Error& error) {
    spdlog::warn("{} steps could not be captured together, and are enqueued one by one: {}", kSteps, error.what());
    return false;
  }
  recording->enqueue(stream);
  return true;
}

}  // namespace mirrortrain
