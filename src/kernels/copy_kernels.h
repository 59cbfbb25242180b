#pragma once

#include <cstdint>

#include "device/device.h"

namespace mirrortrain {

/// For devices whose memory the host does not read: a variable's copies become one value without passing the host.
class CopyKernels {
 public:
  virtual ~CopyKernels() = default;

  /// to = the sum of the `copies` arrays of `count` elements that begin at `from`, `stride` elements apart, or their
  /// mean: added in double and in their order, and rounded once, as DistributedVariable::read does. All are in device
  /// memory. Enqueued; `stream` must be of the thread's current device. Throws Error if the launch fails.
  virtual void combine_copies(Stream& stream, const float* from, int copies, std::int64_t stride, bool mean, float* to,
                              std::int64_t count) const = 0;
};

}  // namespace mirrortrain
