#include "strategy/reduction/choose_reduction.h"

#include <doctest/doctest.h>

#include "error_text.h"
#include "has_in_order.h"

namespace mirrortrain {
namespace {

Topology replicas(int count, const Cluster& cluster = {}) {
  Topology topology;
  topology.cluster = cluster;
  topology.mesh.data = count * cluster.workers;
  for (int i = 0; i < count; ++i) {
    topology.lanes.push_back({{DeviceId::Kind::kCpu, i}, 1, {}, {cluster.worker * count + i}});
  }
  return topology;
}

Topology gpus(int count, int replicas_each = 1) {
  Topology topology;
  topology.mesh.data = count * replicas_each;
  for (int i = 0; i < count; ++i) {
    LanePlace& lane = topology.lanes.emplace_back(LanePlace{{DeviceId::Kind::kCuda, i}, 1, {}, {}});
    for (int r = 0; r < replicas_each; ++r) lane.replicas.push_back(i * replicas_each + r);
  }
  return topology;
}

std::string has_nccl() { return ""; }
std::string has_no_nccl() { return "libnccl.so.2 was not found"; }

ReductionChoice choose(const StrategyOptions& options, const Topology& topology,
                       AggregationMethod method = AggregationMethod::kAddN, std::uint64_t bytes = 1 << 20,
                       std::string (*why_no_nccl)() = has_nccl) {
  return choose_reduction(options, topology, method, bytes, why_no_nccl);
}

StrategyOptions with(CrossDeviceOps operation) {
  StrategyOptions options;
  options.cross_device_ops = operation;
  return options;
}

TEST_CASE("in one memory auto leaves the sum to the update, and says why") {
  const ReductionChoice choice = choose({}, replicas(2), AggregationMethod::kTree);
  CHECK_FALSE(choice.operation.has_value());
  CHECK(contains(choice.note,
                 "auto selected one_pass: 2 replicas share one memory, so the update adds their gradients (1.0 MiB)"));
  CHECK(contains(choice.note, "aggregation_method tree governs fan-in inside the graph alone"));
  CHECK_FALSE(choose({}, gpus(1, 3)).operation.has_value());
  CHECK(contains(choose(with(CrossDeviceOps::kRing), gpus(1, 3)).note, "ring has no effect: 3 replicas share"));
  CHECK(choose({}, replicas(1)).note.empty());
}

TEST_CASE("a named operation is taken, with the aggregation method where it copies") {
  StrategyOptions options = with(CrossDeviceOps::kReductionToOneDevice);
  const ReductionChoice choice = choose(options, replicas(3), AggregationMethod::kTree);
  REQUIRE(choice.stages.has_value());
  CHECK(choice.stages->ranks() == 3);
  CHECK(contains(choice.note, "reduction_to_one_device adds the gradients of 3 replicas, by tree"));
  options.reduce_to_device = DeviceId{DeviceId::Kind::kCpu, 7};
  CHECK(contains(error_text([&] { choose(options, replicas(3)); }), "cpu:7 is not among the run's devices"));
}

TEST_CASE("across GPUs auto selects NCCL, or where there is none a ring by copies, and says why") {
  const ReductionChoice nccl = choose({}, gpus(4));
  CHECK(nccl.operation == CrossDeviceOps::kNccl);
  CHECK_FALSE(nccl.stages.has_value());
  CHECK(nccl.note == "cross_device_ops: auto selected nccl, which adds across 4 GPUs");
  const ReductionChoice ring = choose({}, gpus(4, 2), AggregationMethod::kAddN, 100, has_no_nccl);
  CHECK(ring.operation == CrossDeviceOps::kRing);
  CHECK(ring.stages->ranks() == 4);
  CHECK(contains(ring.note, "auto selected ring, which adds across 4 GPUs by copies (libnccl.so.2 was not found)"));
  CHECK(contains(ring.note, "once each has added its own replicas' gradients"));
}

TEST_CASE("gradients are compressed between memories, and where that cannot be it is said or refused") {
  StrategyOptions options;
  options.communication.compression = Compression::kBfloat16;
  const ReductionChoice between = choose(options, replicas(2, {.workers = 2}));
  CHECK(between.compresses);
  CHECK(contains(between.note, "as bfloat16 with error feedback: 512.0 KiB instead of 1.0 MiB"));
  CHECK(choose(options, gpus(2)).compresses);
  CHECK(choose(options, gpus(2), AggregationMethod::kAddN, 100, has_no_nccl).compresses);
  const ReductionChoice within = choose(options, replicas(2));
  CHECK_FALSE(within.compresses);
  CHECK(contains(within.note, "; compression has no effect: no gradients leave this memory"));
  CHECK(choose(options, replicas(1)).note ==
        "strategy.communication.compression has no effect: no gradients leave this memory");
  for (const auto& [operation, topology] :
       {std::pair{CrossDeviceOps::kReductionToOneDevice, replicas(1, {.workers = 2})},
        std::pair{CrossDeviceOps::kHierarchicalCopy, gpus(4)}}) {
    options.cross_device_ops = operation;
    CHECK(contains(error_text([&] { choose(options, topology); }), "strategy.communication.compression: bfloat16 is"));
  }
}

TEST_CASE("across workers reduction_to_one_device is over replicas, other operations are over workers") {
  const Topology second = replicas(2, {.workers = 3, .worker = 1});
  const ReductionChoice gathered = choose(with(CrossDeviceOps::kReductionToOneDevice), second);
  CHECK(gathered.body == ReductionChoice::Body::kGathered);
  CHECK(gathered.note == "cross_device_ops: reduction_to_one_device adds across 3 workers, by add_n");
  CHECK(gathered.stages->ranks() == 6);
  CHECK(gathered.stages->root() == 0);  // the chief's, whichever worker asks
  const ReductionChoice ring = choose({}, second);
  CHECK(ring.body == ReductionChoice::Body::kCollective);
  CHECK_FALSE(ring.stages.has_value());  // their communicator's
  CHECK(has_in_order(ring.note, {"cross_device_ops: auto: 3 workers ", "their communicator adds", "own replicas'"}));
  const ReductionChoice named = choose(with(CrossDeviceOps::kHierarchicalCopy), replicas(1, {.workers = 2}));
  CHECK(
      has_in_order(named.note, {"cross_device_ops: hierarchical_copy has no effect: 2 workers ", "communicator adds"}));
}

TEST_CASE("without gradients to add there is nothing to choose") {
  const ReductionChoice choice = choose(with(CrossDeviceOps::kRing), replicas(3), AggregationMethod::kAddN, 0);
  CHECK_FALSE(choice.operation.has_value());
  CHECK(choice.note.empty());
}

}  // namespace
}  // namespace mirrortrain
