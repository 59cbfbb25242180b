#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "collective/communicator.h"
#include "device/device.h"

namespace mirrortrain::testing {

/// cuda:0, cuda:1, ..., played by threads.
class PlayingGpus {
 public:
  explicit PlayingGpus(int size, std::chrono::microseconds longest_pause = std::chrono::microseconds(100));
  std::span<Device* const> devices() const { return devices_; }

 private:
  std::vector<std::unique_ptr<Device>> owned_;
  std::vector<Device*> devices_;
};

/// Calls body(communicator, device, stream) on one thread per rank, with its device and a stream of it, and returns
/// when all are done.
void run_lanes(std::span<Communicator* const> ranks, const PlayingGpus& gpus,
               const std::function<void(Communicator&, Device&, Stream&)>& body);

/// What a GPU's kernel does, on a stream's thread: to = terms[0] + terms[1] + ...
void sum_on_call(Stream& stream, std::span<const float* const> terms, float* to, std::size_t count);

/// Some steps of training on every rank: gradients in two packs are made on one stream, summed on another and added to
/// the weights on the first, with events between them and the next pack's backward beside a pack's sum. Checks the
/// weights of every rank.
void check_training(std::span<Communicator* const> ranks, const PlayingGpus& gpus);

}  // namespace mirrortrain::testing
