#pragma once

#include <cstdint>

#include "base/host_device.h"
#include "base/shape.h"
#include "graph/ops/group_norm.h"

// The sets of elements normalized together by group or layer normalization, for all devices.
namespace mirrortrain::scalar {

/// A tensor as samples of cells of channels; each sample's groups of channels are normalized independently.
struct GroupNormShape {
  std::int64_t samples = 0, cells = 1, channels, groups, width;  ///< width: channels of a group

  GroupNormShape(const ops::GroupNormAttributes& op, const Shape& x)
      : channels(x.back()), groups(op.groups), width(channels / groups) {
    const std::int64_t all = channels > 0 ? x.elements() / channels : 0;
    samples = op.by_position ? all : x[0];
    if (!op.by_position && samples > 0) cells = all / samples;
  }
  /// Elements that are normalized together.
  MIRRORTRAIN_HOST_DEVICE std::int64_t together() const { return cells * width; }
};

}  // namespace mirrortrain::scalar
