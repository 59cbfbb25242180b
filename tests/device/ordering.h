#pragma once

#include "device/device.h"

namespace mirrortrain::testing {

/// What a training step asks of streams and events, on any device: one stream feeds numbers into two buffers by turns,
/// a second works on them, a third brings results to the host; events alone keep them apart. Checks every number that
/// arrives.
void check_pipeline(Device& device);

/// copy and zero of many sizes, there and back, in order on one stream.
void check_copies(Device& device);

}  // namespace mirrortrain::testing
