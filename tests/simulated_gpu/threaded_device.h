#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "device/device.h"

namespace mirrortrain {

/// Simulates a GPU on the CPU, so that tests can look for missing waits: each of its streams is a thread that does its
/// work in order but late, with random pauses (at most `longest_pause`, drawn from `seed`) between one piece and the
/// next. Nothing but events, synchronize and the order of a stream's own calls orders any work, for a thread sanitizer
/// too. A stream must be driven by one thread at a time; its destructor finishes the work. While a
/// thread captures, it can neither use events, synchronize nor allocate: Error, as on a GPU. `memory_bytes`: how much
/// it has; 0: as much as the host.
std::unique_ptr<Device> make_threaded_device(DeviceId id, std::uint64_t seed, std::chrono::microseconds longest_pause,
                                             std::size_t memory_bytes = 0);

}  // namespace mirrortrain
