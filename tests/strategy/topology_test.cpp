#include "strategy/topology.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "base/error.h"

namespace mirrortrain {
namespace {

StrategyOptions on(DeviceId::Kind kind, std::initializer_list<int> devices) {
  StrategyOptions options;
  std::vector<DeviceId> list;
  for (const int index : devices) list.push_back({kind, index});
  options.devices = list;
  return options;
}

StrategyOptions on_cpus(std::initializer_list<int> devices) { return on(DeviceId::Kind::kCpu, devices); }
StrategyOptions on_gpus(std::initializer_list<int> devices) { return on(DeviceId::Kind::kCuda, devices); }

Machine with_cores(std::vector<int> cores) {
  return {std::move(cores), [] { return cuda::Gpus{{}, "no GPU"}; }};
}

Machine with_gpus(std::size_t count) {
  return {{0, 1, 2, 3}, [count] { return cuda::Gpus{std::vector<cuda::Gpu>(count), ""}; }};
}

TEST_CASE("devices: all takes every GPU, one_device the first") {
  const Topology all = make_topology({}, 4, with_gpus(3));
  CHECK(all.on_gpus());
  REQUIRE(all.lanes.size() == 3);
  CHECK(all.lanes[2].device.text() == "cuda:2");
  CHECK(all.mesh.data == 3);
  StrategyOptions one;
  one.type = StrategyType::kOneDevice;
  CHECK(make_topology(one, 4, with_gpus(3)).lanes.size() == 1);
}

TEST_CASE("tasks of one machine divide its GPUs, unless the launcher has shown each its own") {
  const auto devices_of = [](const LocalPlace& place, std::size_t visible) {
    Machine machine = with_gpus(visible);
    machine.place = place;
    std::string text;
    for (const LanePlace& lane : make_topology({}, 4, machine).lanes) text += lane.device.text() + " ";
    return text;
  };
  CHECK(devices_of({0, 2}, 4) == "cuda:0 cuda:1 ");
  CHECK(devices_of({1, 2}, 4) == "cuda:2 cuda:3 ");
  CHECK(devices_of({1, 2}, 5) == "cuda:2 cuda:3 ");  // as many for each
  CHECK(devices_of({2, 3}, 3) == "cuda:2 ");
  CHECK(devices_of({1, 2}, 1) == "cuda:0 ");               // fewer than tasks: nothing to divide
  CHECK(devices_of({1, 2, 2, 4}, 2) == "cuda:0 cuda:1 ");  // of four, its own two are visible
  CHECK(devices_of({1, 2, 0, 4}, 2) == "cuda:0 cuda:1 ");
  CHECK(devices_of({1, 2, 2}, 2) == "cuda:0 cuda:1 ");
  CHECK(devices_of({1, 2, 1, 4}, 4) == "cuda:1 ");
  // What TensorFlow's tests of its SlurmClusterResolver expect of CUDA_VISIBLE_DEVICES.
  CHECK(devices_of({1, 2, 1, 2}, 2) == "cuda:1 ");
  CHECK(devices_of({1, 2, 2, 4}, 4) == "cuda:2 cuda:3 ");
  CHECK_THROWS_AS(devices_of({1, 3, 2}, 4), UsageError);
  Machine second = with_gpus(4);
  second.place = {1, 2};
  CHECK(make_topology({}, 4, second).notes ==
        std::vector<std::string>{"2 tasks on this machine divide its 4 GPUs; this one has cuda:2, cuda:3"});
  CHECK(make_topology(on_gpus({0}), 4, second).lanes[0].device.text() == "cuda:0");  // as listed
  CHECK(count_replicas({}, 4, second, 2) == 4);
}

TEST_CASE("several replicas share a GPU") {
  CHECK(make_topology(on_gpus({0, 0}), 4, with_gpus(1)).lanes[0].replicas == std::vector{0, 1});
  StrategyOptions eight = on_gpus({0, 1});
  eight.replicas = 8;
  CHECK(make_topology(eight, 8, with_gpus(2)).lanes[1].replicas == std::vector{4, 5, 6, 7});
}

TEST_CASE("a GPU that does not exist and devices of both kinds are refused") {
  CHECK_THROWS_AS(make_topology(on_gpus({1}), 4, with_gpus(1)), UsageError);
  CHECK_THROWS_AS(make_topology(on_gpus({0}), 4, with_cores({0})), UsageError);
  StrategyOptions mixed = on_gpus({0});
  std::get<std::vector<DeviceId>>(mixed.devices).push_back({DeviceId::Kind::kCpu, 0});
  CHECK_THROWS_AS(make_topology(mixed, 4, with_gpus(1)), UsageError);
}

TEST_CASE("replicas are dealt to devices in order") {
  StrategyOptions options = on_cpus({0, 1});
  options.replicas = 6;
  const Topology placement = make_topology(options, 96, with_cores({0, 1}));
  REQUIRE(placement.lanes.size() == 2);
  CHECK(placement.lanes[0].replicas == std::vector{0, 1, 2});
  CHECK(placement.lanes[1].replicas == std::vector{3, 4, 5});
}

TEST_CASE("a device that is named twice holds two replicas on one lane") {
  const Topology placement = make_topology(on_cpus({0, 1, 0}), 96, with_cores({0, 1}));
  REQUIRE(placement.lanes.size() == 2);
  CHECK(placement.lanes[0].replicas == std::vector{0, 2});
  CHECK(placement.lanes[1].replicas == std::vector{1});
}

TEST_CASE("threads of a replica depend on replicas and cores, not on devices") {
  const std::vector<int> cores{0, 1, 2, 3, 4, 5, 6, 7};
  for (const auto& devices : {std::initializer_list<int>{0}, {0, 1}, {0, 1, 2, 3}}) {
    StrategyOptions options = on_cpus(devices);
    options.replicas = 4;
    for (const LanePlace& lane : make_topology(options, 96, with_cores(cores)).lanes) CHECK(lane.threads == 2);
  }
}

TEST_CASE("lanes are pinned only where they take every core") {
  CHECK(make_topology(on_cpus({0, 1}), 96, with_cores({4, 7})).lanes[1].cores == std::vector{7});
  CHECK(make_topology(on_cpus({0, 1, 2}), 96, with_cores({4, 7})).lanes[1].cores.empty());
  CHECK_FALSE(make_topology(on_cpus({0, 1, 2}), 96, with_cores({4, 7})).cores_of_their_own);
}

TEST_CASE("devices: all takes as many CPU replicas as suit the cores and the batch") {
  CHECK(make_topology({}, 256, with_cores({0, 1, 2, 3})).mesh.data == 4);
  CHECK(make_topology({}, 4, with_cores({0, 1, 2, 3})).mesh.data == 1);
  StrategyOptions options;
  options.cpu_replicas = 3;
  CHECK(make_topology(options, 256, with_cores({0, 1})).mesh.data == 3);
  options = {};
  options.replicas = 9;
  const Topology nine = make_topology(options, 256, with_cores({0, 1, 2, 3}));
  CHECK(nine.mesh.data == 9);
  CHECK(nine.lanes.size() == 3);  // the most that divide them
  options = {};
  options.type = StrategyType::kOneDevice;
  const Topology one = make_topology(options, 256, with_cores({0, 1}));
  CHECK(one.mesh.data == 1);
  CHECK(one.lanes[0].threads == 2);
}

TEST_CASE("all CPU lanes compute in one memory that the host reads, each GPU in its own") {
  const auto cpus = make_topology(on_cpus({0, 1, 0}), 96, with_cores({0, 1})).domains();
  REQUIRE(cpus.size() == 1);
  CHECK(cpus[0].on_host);
  CHECK(cpus[0].lanes == std::vector{0, 1});
  CHECK(cpus[0].replicas == std::vector{0, 1, 2});
  const auto gpus = make_topology(on_gpus({1, 0, 1}), 96, with_gpus(2)).domains();
  REQUIRE(gpus.size() == 2);
  CHECK_FALSE(gpus[0].on_host);
  CHECK(gpus[0].replicas == std::vector{0, 2});
  CHECK(gpus[1].replicas == std::vector{1});
}

TEST_CASE("a worker has the run's replicas that follow those of the workers before it") {
  const Topology second = make_topology(on_cpus({0, 1}), 96, with_cores({0, 1}), {.workers = 3, .worker = 1});
  CHECK(second.mesh.data == 6);
  CHECK(second.lanes[0].replicas == std::vector{2});
  CHECK(second.lanes[1].replicas == std::vector{3});
  CHECK(second.domains()[0].replicas == std::vector{2, 3});
  CHECK(second.ranks() == 3);
  CHECK_FALSE(second.is_chief());
}

TEST_CASE("memories with the same parts of the layers exchange along data, those of a replica along model") {
  using Groups = std::vector<std::vector<int>>;
  const auto placed = [](std::initializer_list<int> gpus, int data, int model, Cluster cluster = {}) {
    StrategyOptions options = on_gpus(gpus);
    options.mesh = MeshOptions{std::int64_t{data}, std::int64_t{model}};
    return make_topology(options, 96, with_gpus(4), cluster);
  };
  const Topology four = placed({0, 1, 2, 3}, 2, 2);
  CHECK(four.memories_of_replica() == 2);
  CHECK_FALSE(four.replica_spans_workers());
  CHECK(four.memory_groups(ops::Axis::kData) == Groups{{0, 2}, {1, 3}});
  CHECK(four.memory_groups(ops::Axis::kModel) == Groups{{0, 1}, {2, 3}});
  const Topology row = placed({0, 1}, 1, 4);
  CHECK(row.domains()[1].replicas == std::vector{2, 3});
  CHECK(row.memory_groups(ops::Axis::kData).empty());
  CHECK(row.memory_groups(ops::Axis::kModel) == Groups{{0, 1}});
  const Topology wholes = placed({0, 1}, 2, 2);
  CHECK(wholes.memories_of_replica() == 1);
  CHECK(wholes.memory_groups(ops::Axis::kData) == Groups{{0, 1}});
  CHECK(wholes.memory_groups(ops::Axis::kModel).empty());
  const Topology workers = placed({0, 1}, 2, 4, {.workers = 4, .worker = 3});
  CHECK(workers.replica_spans_workers());
  CHECK(workers.domains()[0].replicas == std::vector{6});
  CHECK(workers.memory_groups(ops::Axis::kData) == Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  CHECK(workers.memory_groups(ops::Axis::kModel) == Groups{{0, 1, 2, 3}, {4, 5, 6, 7}});
  CHECK_THROWS_AS(placed({0, 1, 0, 2}, 2, 2), WrongMesh);
  CHECK_THROWS_AS(placed({0, 1}, 3, 4), WrongMesh);
}

std::string stages_of(const LanePlace& lane) {
  std::string text;
  for (const auto& [replica, stage, model] : lane.stages) {
    text += fmt::format("{}{}.{}.{}", text.empty() ? "" : " ", stage, replica, model);
  }
  return text;
}

TEST_CASE("the stages of places are dealt to devices stage by stage, and those of a replica to workers that follow") {
  const auto placed = [](int devices, int stages, int data, int model, Cluster cluster = {}) {
    StrategyOptions options;
    std::vector<DeviceId> listed;
    for (int i = 0; i < devices; ++i) listed.push_back({DeviceId::Kind::kCpu, i});
    options.devices = listed;
    options.mesh = MeshOptions{std::int64_t{data}, std::int64_t{model}};
    options.pipeline.emplace();
    options.pipeline->split_before.value.resize(static_cast<std::size_t>(stages - 1));
    options.pipeline->microbatches = 2;
    return make_topology(options, 96, with_cores({0, 1, 2, 3}), cluster);
  };
  const Topology one = placed(4, 2, 2, 2);
  CHECK(stages_of(one.lanes[0]) == "0.0.0 0.0.1");
  CHECK(stages_of(one.lanes[3]) == "1.1.0 1.1.1");
  CHECK(one.lanes[1].replicas == std::vector{4, 5, 6, 7});
  CHECK(one.lanes[2].replicas.empty());
  CHECK(one.memories_of_replica() == 1);
  const Topology split = placed(2, 3, 1, 2);  // the second stage is on both
  CHECK(stages_of(split.lanes[0]) == "0.0.0 0.0.1 1.0.0");
  CHECK(stages_of(split.lanes[1]) == "1.0.1 2.0.0 2.0.1");

  using Groups = std::vector<std::vector<int>>;
  const Topology third = placed(1, 4, 2, 1, {.workers = 4, .worker = 2});
  CHECK(stages_of(third.lanes[0]) == "0.1.0 1.1.0");
  CHECK(third.lanes[0].replicas == std::vector{2, 3});
  CHECK(third.has_stages_elsewhere());
  CHECK(third.memory_groups(ops::Axis::kData) == Groups{{0, 2}, {1, 3}});
  CHECK(third.memory_groups(ops::Axis::kModel) == Groups{{0, 1}, {2, 3}});
  const Topology fourth = placed(1, 4, 2, 1, {.workers = 4, .worker = 3});
  CHECK(stages_of(fourth.lanes[0]) == "2.1.0 3.1.0");
  CHECK(fourth.lanes[0].replicas == std::vector{2, 3});
  const Topology whole = placed(1, 2, 4, 2, {.workers = 2, .worker = 1});
  CHECK(stages_of(whole.lanes[0]) == "0.2.0 0.2.1 0.3.0 0.3.1 1.2.0 1.2.1 1.3.0 1.3.1");
  CHECK_FALSE(whole.has_stages_elsewhere());
  CHECK(whole.memory_groups(ops::Axis::kData) == Groups{{0, 1}});
  CHECK_THROWS_AS(placed(1, 3, 1, 1, {.workers = 2}), WrongPipeline);
  const Topology divided = placed(2, 2, 1, 2, {.workers = 2, .worker = 1});
  CHECK(stages_of(divided.lanes[1]) == "1.0.1");
  CHECK(divided.lanes[1].replicas == std::vector{1, 3});
  CHECK(divided.memory_groups(ops::Axis::kModel) == Groups{{0, 1}});
  CHECK_THROWS_AS(placed(3, 2, 1, 1), WrongPipeline);
}

TEST_CASE("parts cover the batch in order, larger ones first, and differ by one at most") {
  for (std::int64_t rows = 0; rows < 40; ++rows) {
    for (int replicas = 1; replicas < 10; ++replicas) {
      std::int64_t next = 0, before = rows;
      for (int r = 0; r < replicas; ++r) {
        const RowRange part = rows_of_replica(rows, r, replicas);
        CHECK(part.first == next);
        CHECK(part.count <= before);
        CHECK((part.count == rows / replicas || part.count == rows / replicas + 1));
        next += part.count;
        before = part.count;
      }
      CHECK(next == rows);
    }
  }
}

TEST_CASE("what cannot be placed is refused") {
  StrategyOptions options;
  options.devices = std::vector<DeviceId>{{DeviceId::Kind::kCuda, 1}};
  CHECK_THROWS_AS(make_topology(options, 256, with_cores({0})), UsageError);
  options = on_cpus({0, 1});
  options.replicas = 3;
  CHECK_THROWS_AS(make_topology(options, 256, with_cores({0})), UsageError);
}

}  // namespace
}  // namespace mirrortrain
