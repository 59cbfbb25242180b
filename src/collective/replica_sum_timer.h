#pragma once

#include <cstddef>

#include "collective/all_reduce_timer.h"
#include "collective/peer/sum_on_stream.h"
#include "device/device.h"

namespace mirrortrain {

/// Times the sum of `replicas` samples of `count` elements in one device's memory, as time_all_reduce times ranks: what
/// replicas on one device cost, where nothing is sent. In place the first replica's elements become the sum. Leaves the
/// calling thread on the device.
AllReduceTiming time_replica_sum(Device& device, int replicas, std::size_t count, SumOnStream sum, bool in_place);

}  // namespace mirrortrain
