#include "collective/nccl/watch.h"

#include <cuda_runtime_api.h>

#include "device/cuda/cuda_check.h"

namespace mirrortrain::nccl {

bool Watch::happened(const cuda::CudaEvent& event) const {
  const cudaError_t state = cudaEventQuery(event.get());
  if (state == cudaErrorNotReady) {
    cudaGetLastError();  // not a failure, and must not be reported by the next launch
    return false;
  }
  cuda::check(state, "cudaEventQuery", gpu_);
  return true;
}

Watch::Watch(int gpu, double timeout_seconds) : gpu_(gpu), timeout_seconds_(timeout_seconds) {}

void Watch::begin(Stream& stream, const CollectiveCall& call) {
  Mark& mark = marks_[next_ % kAhead];
  mark.call = call;
  stream.record(mark.started);
}

void Watch::end(Stream& stream) { stream.record(marks_[next_++ % kAhead].ended); }

void Watch::look() {
  while (oldest_ < next_ && happened(marks_[oldest_ % kAhead].ended)) {
    ++oldest_;
    running_since_.reset();
  }
  // Waiting for a rank's own earlier work is not a failure: the timeout counts from the operation's start.
  if (oldest_ < next_ && !running_since_ && happened(marks_[oldest_ % kAhead].started)) running_since_ = Clock::now();
}

std::optional<std::uint64_t> Watch::overdue() const {
  if (timeout_seconds_ <= 0 || !running_since_) return std::nullopt;
  const double running = std::chrono::duration<double>(Clock::now() - *running_since_).count();
  return running > timeout_seconds_ ? std::optional(oldest_) : std::nullopt;
}

}  // namespace mirrortrain::nccl
