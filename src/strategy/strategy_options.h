#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cluster/cluster_options.h"
#include "collective/cross_device_ops.h"
#include "config/section.h"
#include "device/device.h"
#include "strategy/mesh_options.h"
#include "strategy/partitioner.h"
#include "strategy/pipeline_options.h"
#include "strategy/strategy_type.h"

namespace mirrortrain {

/// The transport of sums between memories that cannot reach each other.
enum class Transport : std::uint8_t { kAuto, kRing, kNccl };

/// Wire format of gradients between memories.
enum class Compression : std::uint8_t {
  kNone,      ///< float32
  kBfloat16,  ///< half the bytes; rounding errors are kept and added to the next step's gradients
};

/// What the memories of the axis `data` keep of the optimizer's state; see Rajbhandari et al., ZeRO: Memory
/// Optimizations Toward Training Trillion Parameter Models (2019).
enum class OptimizerState : std::uint8_t {
  kReplicated,        ///< each all of it
  kSharded,           ///< each the state of the weights that it updates
  kShardedGradients,  ///< and the gradients of these alone
  kShardedWeights,    ///< and these weights alone
};

enum class AllDevices : std::uint8_t { kAll };

/// Reported if nccl is requested and a replica is not on a GPU.
inline constexpr const char* kNcclNeedsGpus =
    "nccl adds across GPUs alone; use auto, ring, hierarchical_copy or reduction_to_one_device";

/// Reported if a list has both kinds of devices.
inline constexpr const char* kMixedDevices =
    "CPU and CUDA replicas cannot train together: each step would wait for the CPU's; list devices of one kind";

/// Every visible GPU, or CPU replicas; or a list, where naming a device twice puts two replicas on it.
using Devices = std::variant<AllDevices, std::vector<DeviceId>>;

/// Communication between lanes.
struct CommunicationOptions {
  std::optional<config::Size> bytes_per_pack;
  double timeout_seconds = 60;        ///< 0: no limit
  double join_timeout_seconds = 600;  ///< until every task has joined; 0: no limit
  Transport implementation = Transport::kAuto;
  Compression compression = Compression::kNone;

  // What else waits, in seconds, as follows from timeout_seconds; 0: no limit.
  /// Lanes wait for each other. If an operation among workers times out, it should report this before they do.
  double lane_timeout(bool has_workers) const {
    return timeout_seconds > 0 && has_workers ? timeout_seconds + 5 : timeout_seconds;
  }
  /// The tasks of an elastic run wait for those that join again.
  std::optional<double> regroup_timeout() const {
    return timeout_seconds > 0 ? std::optional(std::clamp(timeout_seconds, 30.0, 120.0)) : std::nullopt;
  }
  static config::Section<CommunicationOptions> section();
};

/// The section `strategy`.
struct StrategyOptions {
  StrategyType type = StrategyType::kMirrored;
  Devices devices;
  std::optional<std::int64_t> replicas, cpu_replicas, threads_per_replica;
  std::optional<MeshOptions> mesh;
  std::optional<PipelineOptions> pipeline;
  OptimizerState optimizer_state = OptimizerState::kReplicated;
  CrossDeviceOps cross_device_ops = CrossDeviceOps::kAuto;
  std::optional<DeviceId> reduce_to_device;
  CommunicationOptions communication;
  std::optional<Partitioner> partitioner;
  std::optional<std::int64_t> max_staleness;
  bool elastic = false;
  ClusterOptions cluster;

  /// What the type can do.
  const strategies::Declaration& declaration() const { return declaration_of(type); }
  static config::Section<StrategyOptions> section();
};

/// What does not go with layers that several places divide; "" if nothing.
std::string conflict_with_divided_layers(const StrategyOptions& options);

}  // namespace mirrortrain

namespace mirrortrain::config {

template <>
struct EnumNames<Transport> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, Transport>>(
      {{"auto", Transport::kAuto}, {"ring", Transport::kRing}, {"nccl", Transport::kNccl}});
};

template <>
struct EnumNames<Compression> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, Compression>>(
      {{"none", Compression::kNone}, {"bfloat16", Compression::kBfloat16}});
};

template <>
struct EnumNames<OptimizerState> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, OptimizerState>>(
      {{"replicated", OptimizerState::kReplicated},
       {"sharded", OptimizerState::kSharded},
       {"sharded_gradients", OptimizerState::kShardedGradients},
       {"sharded_weights", OptimizerState::kShardedWeights}});
  static constexpr auto aliases = std::to_array<std::pair<std::string_view, std::string_view>>(
      {{"replicated", "zero_0, none, false"},
       {"sharded", "zero, zero_1, zero1, stage_1, partitioned, true"},
       {"sharded_gradients", "zero_2, zero2, stage_2, shard_grad_op"},
       {"sharded_weights", "zero_3, zero3, stage_3, full_shard, fsdp"}});
};

template <>
struct EnumNames<AllDevices> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, AllDevices>>({{"all", AllDevices::kAll}});
};

template <>
struct ChoiceTag<Devices> {
  static constexpr std::string_view noun = "`all` or a list such as [cpu:0, cpu:1] or [cuda:0]";
};

/// Written `cpu:0` or `cuda:1`.
template <>
struct Codec<DeviceId> {
  static bool accepts(const Value& value);
  static void read(const Node& node, DeviceId& device);
  /// "cuda:0" for `gpu`, `GPU:0` or `0`; "" if no meaning is known.
  static std::string meant(const Value& value);
  static Value show(const DeviceId& device);
  static Schema schema(const Rules& rules);
};

}  // namespace mirrortrain::config
