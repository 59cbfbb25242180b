#include "strategy/reduction/choose_reduction.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "report/format.h"
#include "strategy/gradient_options.h"

namespace mirrortrain {
namespace {

/// The lane on whose device the sum is computed.
const LanePlace& root_lane(const StrategyOptions& options, const Topology& topology) {
  if (!options.reduce_to_device) return topology.lanes.front();
  const auto found = std::ranges::find(topology.lanes, *options.reduce_to_device, &LanePlace::device);
  if (found != topology.lanes.end()) return *found;
  throw UsageError(
      fmt::format("strategy.reduce_to_device: {} is not among the run's devices", options.reduce_to_device->text()));
}

/// Notes whether the aggregation method defines how gradients are added across replicas, or the operation has its own
/// order.
std::string order_note(bool by_method, AggregationMethod method) {
  if (by_method) return fmt::format(", by {}", config::name_of(method));
  if (method == AggregationMethod::kAddN) return "";
  return fmt::format(" (aggregation_method {} governs fan-in inside the graph alone)", config::name_of(method));
}

std::string plural(int count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

/// Chooses the reduction within one memory.
ReductionChoice choose_within(const StrategyOptions& options, const Topology& topology, AggregationMethod method,
                              std::uint64_t gradient_bytes) {
  const int replicas = topology.mesh.replicas();
  const std::string name(config::name_of(options.cross_device_ops));
  ReductionChoice choice;
  if (options.cross_device_ops != CrossDeviceOps::kAuto && !topology.on_gpus()) {
    choice.body = ReductionChoice::Body::kStaged;
    choice.operation = options.cross_device_ops;
    choice.stages.emplace(*choice.operation, replicas, method, root_lane(options, topology).replicas.front());
    choice.note = fmt::format("cross_device_ops: {} adds the gradients of {}{}", name, plural(replicas, "replica"),
                              order_note(uses_aggregation_method(*choice.operation), method));
    return choice;
  }
  if (replicas == 1) return choice;
  const bool is_auto = options.cross_device_ops == CrossDeviceOps::kAuto;
  choice.note = fmt::format(
      "cross_device_ops: {}: {} replicas share one memory, so the update adds their gradients ({}) in its own pass{}",
      is_auto ? "auto selected one_pass" : name + " has no effect", replicas, report::bytes_text(gradient_bytes),
      order_note(false, method));
  if (options.communication.bytes_per_pack && options.communication.bytes_per_pack->bytes > 0)
    choice.note += "; bytes_per_pack has no effect";
  return choice;
}

/// Throws UsageError if the options request a transport across workers that is unavailable.
void require_transport(const StrategyOptions& options, const Topology& topology,
                       const std::function<std::string()>& why_no_nccl) {
  const auto refuse = [](std::string_view key, const std::string& why) {
    throw UsageError(fmt::format("strategy.{}: {}", key, why));
  };
  const Transport transport = options.communication.implementation;
  if (!topology.on_gpus()) {
    if (transport == Transport::kNccl)
      refuse("communication.implementation", "nccl adds across GPUs alone; use auto or ring");
    return;
  }
  if (transport == Transport::kRing) {
    refuse("communication.implementation",
           "ring adds in host memory, and the replicas are on GPUs; use auto or nccl, or CPU devices");
  }
  if (options.cross_device_ops != CrossDeviceOps::kAuto && options.cross_device_ops != CrossDeviceOps::kNccl) {
    refuse("cross_device_ops",
           fmt::format("{} copies between the GPUs of one machine, and there are {} workers; use auto "
                       "or nccl",
                       config::name_of(options.cross_device_ops), topology.cluster.workers));
  }
  if (const std::string why = why_no_nccl(); !why.empty()) {
    throw UsageError(fmt::format("GPUs of {} workers add with NCCL alone: {}", topology.cluster.workers, why));
  }
}

/// Whether gradients are sent between memories as bfloat16. Throws UsageError if they cannot be.
bool compresses(const StrategyOptions& options, const ReductionChoice& choice) {
  if (options.communication.compression == Compression::kNone) return false;
  const bool has_order = choice.stages && options.cross_device_ops != CrossDeviceOps::kAuto;
  if (!has_order && choice.body != ReductionChoice::Body::kGathered) return true;
  throw UsageError(fmt::format(
      "strategy.communication.compression: bfloat16 is rounded in an order of its own, and {} adds float32 in "
      "another; use cross_device_ops: auto, or leave compression out",
      config::name_of(*choice.operation)));
}

/// Notes the options that have no effect if all gradients are in one memory.
ReductionChoice in_one_memory(ReductionChoice choice, const StrategyOptions& options, bool has_row) {
  const auto note = [&](std::string_view section, std::string_view what) {
    choice.note += fmt::format("{}{}", choice.note.empty() ? section : "; ", what);
  };
  if (options.communication.compression != Compression::kNone) {
    note("strategy.communication.", "compression has no effect: no gradients leave this memory");
  }
  if (options.optimizer_state != OptimizerState::kReplicated) {
    note("strategy.", has_row ? "optimizer_state has no effect: there is one replica, whose memories have their parts"
                              : "optimizer_state has no effect: all replicas share one memory, which has it once");
  }
  return choice;
}

}  // namespace

ReductionChoice choose_reduction(const StrategyOptions& options, const Topology& topology, AggregationMethod method,
                                 std::uint64_t gradient_bytes, const std::function<std::string()>& why_no_nccl) {
  if (topology.cluster.workers > 1) require_transport(options, topology, why_no_nccl);
  const int in_row = topology.memories_of_replica(), ranks = topology.memories_of_parts();
  const bool is_auto = options.cross_device_ops == CrossDeviceOps::kAuto;
  const std::string no_nccl = is_auto && topology.on_gpus() && topology.ranks() > 1 ? why_no_nccl() : "";
  const CrossDeviceOps operation = !is_auto                                ? options.cross_device_ops
                                   : topology.on_gpus() && no_nccl.empty() ? CrossDeviceOps::kNccl
                                                                           : CrossDeviceOps::kRing;
  std::optional<StagedReduction> stages_in_row;
  if (in_row > 1 && topology.on_gpus() && operation != CrossDeviceOps::kNccl) {
    stages_in_row.emplace(operation, in_row, method);
  }
  if (ranks == 1) {
    ReductionChoice choice = in_one_memory(
        gradient_bytes == 0 ? ReductionChoice() : choose_within(options, topology, method, gradient_bytes), options,
        in_row > 1);
    choice.stages_in_row = std::move(stages_in_row);
    return choice;
  }
  ReductionChoice choice;
  choice.operation = operation;
  choice.stages_in_row = std::move(stages_in_row);
  const std::string why = no_nccl.empty() ? "" : fmt::format(" by copies ({})", no_nccl);
  // Replicas in memories that cannot reach each other are gathered, so that the order is the replicas'; otherwise the
  // workers' communicator adds.
  const bool gathers = *choice.operation == CrossDeviceOps::kReductionToOneDevice && !topology.on_gpus();
  choice.body = gathers ? ReductionChoice::Body::kGathered : ReductionChoice::Body::kCollective;
  bool by_method = false;
  if (choice.operation != CrossDeviceOps::kNccl && (topology.on_gpus() || gathers)) {
    const LanePlace& root = root_lane(options, topology);
    // Every worker selects the chief's replica.
    const int root_replica = root.replicas.front() % (topology.mesh.places() / topology.cluster.workers);
    const int root_rank = topology.on_gpus() ? static_cast<int>(&root - topology.lanes.data()) : 0;
    choice.stages.emplace(*choice.operation, gathers ? topology.mesh.places() : ranks, method,
                          gathers ? root_replica : root_rank);
    by_method = uses_aggregation_method(*choice.operation);
  }
  const std::string before =
      topology.mesh.replicas() > ranks && !gathers ? ", once each has added its own replicas' gradients" : "";
  const std::string_view memory = topology.on_gpus() ? "GPU" : "worker";
  const std::string memories =
      in_row == 1 ? plural(ranks, memory) : fmt::format("{} of {}", plural(ranks, "row"), plural(in_row, memory));
  const std::string_view name = config::name_of(*choice.operation);
  if (topology.on_gpus() || gathers) {
    choice.note =
        fmt::format("cross_device_ops: {} across {}{}{}{}",
                    is_auto ? fmt::format("auto selected {}, which adds", name) : fmt::format("{} adds", name),
                    memories, why, order_note(by_method, method), before);
  } else {
    choice.note = fmt::format(
        "cross_device_ops: {}: {} are processes of their own, so their communicator adds the gradients, in its own "
        "order{}",
        is_auto ? "auto" : fmt::format("{} has no effect", name), memories, before);
  }
  choice.compresses = compresses(options, choice);
  if (choice.compresses) {
    choice.note += fmt::format(", as bfloat16 with error feedback: {} instead of {}",
                               report::bytes_text(gradient_bytes / 2), report::bytes_text(gradient_bytes));
  }
  choice.shards = options.optimizer_state != OptimizerState::kReplicated;
  if (choice.shards) {
    choice.note += fmt::format("; optimizer_state: each {} keeps and updates its 1/{}, {}", memory, ranks,
                               options.optimizer_state == OptimizerState::kSharded ? "then they gather the weights"
                               : options.optimizer_state == OptimizerState::kShardedGradients
                                   ? "of weights and gradients too; each step gathers the weights"
                                   : "of weights and gradients too; the weights are gathered layer by layer");
  }
  return choice;
}

std::uint64_t reduced_gradient_bytes(const Model& model, const std::vector<VariablePolicy>& policies,
                                     const std::vector<SparseGradient>& sparse, std::int64_t examples) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < model.variables.size(); ++i) {
    const VariableSpec& spec = model.variables[i].spec;
    if (!spec.trainable || policies[i].aggregation == Aggregation::kNone) continue;
    const auto rows = std::ranges::find(sparse, i, &SparseGradient::variable);
    const std::int64_t elements = rows == sparse.end() ? spec.shape.elements() : rows->elements(spec.shape, examples);
    bytes += static_cast<std::uint64_t>(elements) * sizeof(float);
  }
  return bytes;
}

}  // namespace mirrortrain
