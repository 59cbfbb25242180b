#pragma once

#include <cstdint>

#include "device/device.h"

namespace mirrortrain {

/// What the StepKernels of devices whose memory the host does not read are, too: a variable's copies become one value
/// without passing the host.
class CopyKernels {
 public:
  virtual ~CopyKernels() = default;

  /// to = the sum of `copies` arrays of `count` elements, which begin `stride` elements apart, or their mean: added in
  /// double and in their order, and rounded once, as DistributedVariable::read does.
  virtual void combine_copies(Stream& stream, const float* from, int copies, std::int64_t stride, bool mean, float* to,
                              std::int64_t count) const = 0;
};

}  // namespace mirrortrain
