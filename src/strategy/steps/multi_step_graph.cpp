#include "strategy/steps/multi_step_graph.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "base/error.h"

namespace mirrortrain {

std::size_t MultiStepGraph::enqueue(const StepKey& key, std::size_t end_slot, const std::function<void()>& run_fixed) {
  const std::size_t deferred = std::exchange(deferred_, 0);
  if (deferred != kSteps) return deferred;
  enqueue_together(key, end_slot - kSteps, run_fixed);
  return works_ ? 0 : deferred;
}

void MultiStepGraph::enqueue_together(const StepKey& key, std::size_t first_slot,
                                      const std::function<void()>& run_fixed) {
  Stream& stream = lane_.stream();
  std::unique_ptr<Recording>& recording = recordings_[{key, first_slot}];
  StepBuffers& buffers = lane_.buffers();
  try {
    if (!recording) {
      recording = stream.capture([&] {
        buffers.send_inputs_together(stream, first_slot, kSteps);
        for (std::size_t step = 0; step < kSteps; ++step) {
          // A step begins with gathering the rows.
          lane_.examples()->bring_along({buffers.select(step), step > 0 ? buffers.keep(step - 1) : SmallCopy()});
          run_fixed();
        }
        buffers.select_none();
        const SmallCopy last = buffers.keep(kSteps - 1);
        stream.copy(last.to, last.from, last.bytes);
        buffers.send_sums_together(stream, first_slot, kSteps);
      });
    }
  } catch (const Error& error) {
    buffers.select_none();
    lane_.examples()->bring_along({});
    spdlog::warn("{} steps could not be captured together, and are enqueued one by one: {}", kSteps, error.what());
    works_ = false;
    return;
  }
  recording->enqueue(stream);
}

}  // namespace mirrortrain
