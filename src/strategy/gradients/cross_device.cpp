#include "strategy/gradients/cross_device.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "report/format.h"
#include "strategy/gradient_options.h"
#include "strategy/gradients/measured_all_reduce.h"

namespace mirrortrain {
namespace {

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

std::string_view name_of(LocalAlgorithm algorithm) {
  for (const auto& [name, named] : kLocalAlgorithmNames) {
    if (named == algorithm) return name;
  }
  return "";
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

/// Whether the aggregation method says how gradients are added across replicas, or the operation has an order of its
/// own.
std::string order_note(bool by_method, AggregationMethod method) {
  if (by_method) return fmt::format(", by {}", config::name_of(method));
  if (method == AggregationMethod::kAddN) return "";
  return fmt::format(" (aggregation_method {} governs fan-in inside the graph alone)", config::name_of(method));
}

std::string gpu_note(const StrategyOptions& options, const Placement& placement, AggregationMethod method) {
  const std::string name(config::name_of(options.cross_device_ops));
  if (placement.lanes.size() == 1) {
    if (placement.replicas == 1) return "";
    return fmt::format("cross_device_ops: {}: {} replicas on one GPU, whose update adds their gradients in one pass",
                       name, placement.replicas);
  }
  const bool several = placement.replicas > static_cast<int>(placement.lanes.size());
  const bool by_method = uses_aggregation_method(algorithm_for(options.cross_device_ops));
  return fmt::format("cross_device_ops: {} adds across {} GPUs{}{}", name, placement.lanes.size(),
                     order_note(by_method, method), several ? ", once each has added its own replicas' gradients" : "");
}

}  // namespace

LocalReduction reduction_across(const StrategyOptions& options, const Placement& placement, AggregationMethod method) {
  const int replica = root_replica(options, placement);
  const auto root = std::find_if(placement.lanes.begin(), placement.lanes.end(), [&](const LanePlacement& lane) {
    return std::ranges::count(lane.replicas, replica) > 0;
  });
  return {algorithm_for(options.cross_device_ops), static_cast<int>(placement.lanes.size()), method,
          static_cast<int>(root - placement.lanes.begin())};
}

CrossDevice choose_cross_device(const StrategyOptions& options, const Placement& placement, AggregationMethod method,
                                std::uint64_t gradient_bytes) {
  const int replicas = placement.replicas;
  const bool is_auto = options.cross_device_ops == CrossDeviceOps::kAuto;
  if (gradient_bytes == 0 || (is_auto && replicas == 1)) return {};
  if (placement.on_gpus()) return {std::nullopt, gpu_note(options, placement, method)};

  const MeasuredAllReduce& measured = nearest_measurement(replicas, gradient_bytes);
  const LocalAlgorithm algorithm = is_auto ? fastest(measured) : algorithm_for(options.cross_device_ops);
  CrossDevice chosen;
  chosen.note = fmt::format("cross_device_ops: {}", config::name_of(options.cross_device_ops));
  if (is_auto) {
    chosen.note += fmt::format(" takes {}, measured as the fastest for {} replicas on one memory and {}",
                               name_of(algorithm), replicas, report::bytes_text(gradient_bytes));
  } else {
    chosen.note += fmt::format(" adds {} replica{} gradients", replicas, replicas == 1 ? "'s" : "s'");
  }
  chosen.note += order_note(uses_aggregation_method(algorithm), method);
  if (algorithm == LocalAlgorithm::kOnePass) {
    chosen.note += ": each lane adds and updates its part";
    if (options.communication.bytes_per_pack.bytes > 0) chosen.note += "; there are no packs";
  } else {
    chosen.reduction.emplace(algorithm, replicas, method, root_replica(options, placement));
  }
  return chosen;
}

std::uint64_t reduced_gradient_bytes(const Model& model, const std::vector<VariablePolicy>& policies) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < model.variables.size(); ++i) {
    const VariableSpec& spec = model.variables[i].spec;
    if (!spec.trainable || policies[i].aggregation == Aggregation::kNone) continue;
    bytes += static_cast<std::uint64_t>(spec.shape.elements()) * sizeof(float);
  }
  return bytes;
}

}  // namespace mirrortrain
