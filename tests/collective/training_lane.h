#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "collective/communicator.h"
#include "device/device.h"

namespace mirrortrain::testing {

/// cuda:index, played by threads.
std::unique_ptr<Device> playing_gpu(int index);

/// Calls body(communicator, device, stream) on one thread per rank, each with a device played by threads and a stream
/// of it, and returns when all are done.
void run_lanes(std::span<Communicator* const> ranks, const std::function<void(Communicator&, Device&, Stream&)>& body);

/// Some steps of training on every rank: gradients in two packs are made on one stream, summed on another and added to
/// the weights on the first, with events between them and the next pack's backward beside a pack's sum. Checks the
/// weights of every rank.
void check_training(std::span<Communicator* const> ranks);

}  // namespace mirrortrain::testing
