#include "bench/configured_bench.h"

#include <cstdio>
#include <memory>

#include "base/error.h"
#include "collective/nccl/nccl_communicator.h"
#include "device/cpu/cpu_device.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/gpus.h"
#include "strategy/reduction/gradient_buckets.h"
#include "strategy/variables/variable_store.h"
#include "train/session/hardware.h"

namespace mirrortrain {
namespace {

std::vector<std::unique_ptr<Device>> make_devices(const Topology& topology) {
  std::vector<std::unique_ptr<Device>> devices;
  for (const LanePlace& lane : topology.lanes) {
    const auto core = lane.cores.empty() ? std::vector<int>{} : std::vector{lane.cores[0]};
    devices.push_back(topology.on_gpus() ? make_cuda_device(lane.device.index)
                                         : make_cpu_device(lane.device.index, 1, core));
  }
  return devices;
}

}  // namespace

std::vector<std::size_t> bucket_counts(const CheckedConfiguration& checked) {
  StoreOptions store;
  store.policies = checked.policies();
  store.bytes_per_bucket = bucket_bytes(checked.values().strategy.communication);
  const auto device = make_cpu_device(0, 1, {});
  const VariableStore variables(*checked.model, store, *device);
  std::vector<std::size_t> counts;
  for (const GradientBucket& bucket : make_buckets(variables)) {
    counts.push_back(static_cast<std::size_t>(bucket.elements));
  }
  return counts;
}

void bench_on_devices(const Topology& topology, const AllReduceBenchOptions& options) {
  if (topology.mesh.model > 1) {
    throw UsageError(
        "strategy.mesh.model: the gradients of divided layers are added among the devices with the same parts, which "
        "bench-allreduce does not measure; use model: 1");
  }
  const bool one_gpu = topology.on_gpus() && topology.lanes.size() == 1;
  for (const LanePlace& lane : topology.lanes) {
    if (lane.replicas.size() > 1 && !one_gpu) {
      throw UsageError("--devices: " + lane.device.text() + " is listed twice; each rank needs a device of its own" +
                       (topology.on_gpus() ? ", and replicas on a GPU are measured on a single GPU" : ""));
    }
  }
  const auto devices = make_devices(topology);
  std::vector<Device*> ranks;
  for (const auto& device : devices) ranks.push_back(device.get());
  std::vector<int> gpus;
  for (const Device* device : ranks) gpus.push_back(device->id().index);
  if (topology.on_gpus()) cuda::enable_peer_access(gpus);
  const auto backend = this_hardware().backend(topology, {});
  const BenchHardware hardware{backend->step_kernels(), why_no_nccl, [](std::span<const int> on, double timeout) {
                                 return owned(make_nccl_communicators(on, timeout));
                               }};
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> nowhere(std::fopen("/dev/null", "w"), std::fclose);
  std::FILE* const table = options.json == "-" && nowhere ? nowhere.get() : stdout;
  bench_all_reduce(options, ranks, one_gpu ? topology.mesh.data : 1, hardware, table);
}

}  // namespace mirrortrain
