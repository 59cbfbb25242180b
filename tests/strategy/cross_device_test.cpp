#include "strategy/gradients/cross_device.h"

#include <doctest/doctest.h>

#include "error_text.h"
#include "strategy/gradients/measured_all_reduce.h"

namespace mirrortrain {
namespace {

Placement replicas(int count) {
  Placement placement;
  placement.replicas = count;
  for (int i = 0; i < count; ++i) placement.lanes.push_back({{DeviceId::Kind::kCpu, i}, 1, {}, {i}});
  return placement;
}

TEST_CASE("the nearest measurement has no more ranks and no fewer bytes") {
  const auto at = [](int ranks, std::uint64_t bytes) {
    const MeasuredAllReduce& row = nearest_measurement(ranks, bytes);
    return std::pair(row.ranks, row.bytes);
  };
  CHECK(at(2, 1) == std::pair(2, std::uint64_t{8}));
  CHECK(at(2, 1025) == std::pair(2, std::uint64_t{16 << 10}));
  CHECK(at(2, std::uint64_t{1} << 40) == std::pair(2, std::uint64_t{64 << 20}));
  CHECK(at(3, 8) == std::pair(3, std::uint64_t{1 << 20}));
  CHECK(at(6, 8) == std::pair(4, std::uint64_t{1 << 20}));
  CHECK(at(1000, 8) == std::pair(8, std::uint64_t{1 << 20}));
}

TEST_CASE("auto takes what was measured as the fastest, and says so") {
  MeasuredAllReduce row{2, 8, 4, 3, 2, 1};
  CHECK(fastest(row) == LocalAlgorithm::kReductionToOneDevice);
  const CrossDevice chosen = choose_cross_device({}, replicas(2), AggregationMethod::kTree, 1 << 20);
  CHECK_FALSE(chosen.reduction.has_value());
  CHECK(contains(chosen.note, "auto takes one_pass, measured as the fastest for 2 replicas on one memory and 1.0 MiB"));
  CHECK(contains(chosen.note, "aggregation_method tree governs fan-in inside the graph alone"));
}

TEST_CASE("an operation that is named is taken, with the aggregation method where it copies") {
  StrategyOptions options;
  options.cross_device_ops = CrossDeviceOps::kReductionToOneDevice;
  const CrossDevice chosen = choose_cross_device(options, replicas(3), AggregationMethod::kTree, 100);
  REQUIRE(chosen.reduction.has_value());
  CHECK(chosen.reduction->ranks() == 3);
  CHECK(contains(chosen.note, "reduction_to_one_device adds 3 replicas' gradients, by tree"));
  options.reduce_to_device = DeviceId{DeviceId::Kind::kCpu, 7};
  CHECK(contains(error_text([&] { choose_cross_device(options, replicas(3), AggregationMethod::kTree, 100); }),
                 "cpu:7 is not among the run's devices"));
}

TEST_CASE("without gradients to add there is nothing to choose") {
  StrategyOptions options;
  options.cross_device_ops = CrossDeviceOps::kRing;
  const CrossDevice chosen = choose_cross_device(options, replicas(3), AggregationMethod::kAddN, 0);
  CHECK_FALSE(chosen.reduction.has_value());
  CHECK(chosen.note.empty());
}

}  // namespace
}  // namespace mirrortrain
