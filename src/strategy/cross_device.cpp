#include "strategy/cross_device.h"

#include <fmt/format.h>

#include "base/error.h"
#include "strategy/gradient_options.h"

namespace mirrortrain {
namespace {

template <class E>
std::string_view name_in_configuration(E value) {
  for (const auto& [name, named] : config::EnumNames<E>::names) {
    if (named == value) return name;
  }
  return "";
}

LocalAlgorithm algorithm_for(CrossDeviceOps ops) {
  switch (ops) {
    case CrossDeviceOps::kRing: return LocalAlgorithm::kRing;
    case CrossDeviceOps::kHierarchicalCopy: return LocalAlgorithm::kHierarchicalCopy;
    case CrossDeviceOps::kReductionToOneDevice: return LocalAlgorithm::kReductionToOneDevice;
    case CrossDeviceOps::kAuto:
    case CrossDeviceOps::kNccl: break;  // nccl was refused where there is no GPU
  }
  return LocalAlgorithm::kOnePass;
}

/// The first replica on the device that the sum is made on.
int root_replica(const StrategyOptions& options, const Placement& placement) {
  if (!options.reduce_to_device) return 0;
  for (const LanePlacement& lane : placement.lanes) {
    if (lane.device == *options.reduce_to_device) return lane.replicas.front();
  }
  throw UsageError(
      fmt::format("strategy.reduce_to_device: {} is not among the run's devices", options.reduce_to_device->text()));
}

/// What of the aggregation method is left where the reduction has an order of its own.
std::string fan_in_note(AggregationMethod method) {
  if (method == AggregationMethod::kAddN) return "";
  return fmt::format("; aggregation_method {} governs fan-in inside the graph alone", name_in_configuration(method));
}

}  // namespace

CrossDevice choose_cross_device(const StrategyOptions& options, const Placement& placement, AggregationMethod method) {
  const int replicas = placement.replicas;
  if (options.cross_device_ops == CrossDeviceOps::kAuto) {
    if (replicas == 1) return {};
    // bench-allreduce found nothing faster at any size for replicas that share a memory (docs/performance.md).
    return {{},
            fmt::format("cross_device_ops: auto adds {} replicas' gradients in one pass, since they share a memory: "
                        "each lane adds and updates its part{}{}",
                        replicas, fan_in_note(method),
                        options.communication.bytes_per_pack.bytes > 0 ? "; there are no packs" : "")};
  }
  const LocalAlgorithm algorithm = algorithm_for(options.cross_device_ops);
  return {LocalReduction(algorithm, replicas, method, root_replica(options, placement)),
          fmt::format("cross_device_ops: {} adds {} replica{}' gradients{}",
                      name_in_configuration(options.cross_device_ops), replicas, replicas == 1 ? "" : "s",
                      uses_aggregation_method(algorithm) ? fmt::format(" by {}", name_in_configuration(method))
                                                         : fan_in_note(method))};
}

}  // namespace mirrortrain
