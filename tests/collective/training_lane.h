#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "collective/communicator.h"
#include "device/device.h"
#include "kernels/step_kernels.h"

namespace mirrortrain::testing {

/// cuda:0, cuda:1, ..., simulated by threads.
class SimulatedGpus {
 public:
  explicit SimulatedGpus(int size, std::chrono::microseconds longest_pause = std::chrono::microseconds(100));
  std::span<Device* const> devices() const { return devices_; }

 private:
  std::vector<std::unique_ptr<Device>> owned_;
  std::vector<Device*> devices_;
};

/// Calls body(communicator, device, stream) on one thread per rank, with its device and a stream of it, and returns
/// when all are done.
void run_lanes(std::span<Communicator* const> ranks, const SimulatedGpus& gpus,
               const std::function<void(Communicator&, Device&, Stream&)>& body);

/// Kernels that sum as a GPU's do, on a stream's thread, and do nothing else.
const StepKernels& summing_kernels();

/// Some steps of training on every rank: gradients in two buckets are made on one stream, summed on another and added
/// to the weights on the first, with events between them and the next bucket's backward beside a bucket's sum. Checks
/// the weights of every rank.
void check_training(std::span<Communicator* const> ranks, const SimulatedGpus& gpus);

}  // namespace mirrortrain::testing
