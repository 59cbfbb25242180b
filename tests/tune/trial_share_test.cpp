#include "tune/trial_share.h"

#include <doctest/doctest.h>

#include <cstdlib>

#include "base/error.h"
#include "error_text.h"
#include "has_in_order.h"

namespace mirrortrain::tune {
namespace {

Machine machine_of(std::vector<int> cores, std::size_t gpus = 0) {
  Machine machine;
  machine.cores = std::move(cores);
  machine.gpus = [gpus] {
    cuda::Gpus found;
    found.gpus.resize(gpus);
    found.why_none = "none here";
    return found;
  };
  return machine;
}

Configuration batch_of(std::int64_t examples) {
  Configuration values;
  values.data.global_batch_size = examples;
  return values;
}

TEST_CASE("every trial gets as many cores and GPUs as the others, though some are left over") {
  const Machine machine = machine_of({2, 3, 5, 7, 11}, 5);
  const TrialShare share = share_of_machine(machine, 2, {});
  CHECK(share.all_cores == 5);
  CHECK(share.cores == 2);
  CHECK(share.gpus == 2);
  const auto parts = parts_of(machine, share, 2);
  CHECK(parts[0].cores == std::vector<int>{2, 3});
  CHECK(parts[1].cores == std::vector<int>{5, 7});
  CHECK(parts[0].gpus == "0,1");
  CHECK(parts[1].gpus == "2,3");
  CHECK(parts_of(machine, share_of_machine(machine, 1, {}), 1)[0].cores.empty());  // the whole machine
}

TEST_CASE("more trials than cores share all of them, and more than GPUs are refused") {
  const Machine machine = machine_of({0, 1});
  const TrialShare share = share_of_machine(machine, 4, {});
  CHECK(share.cores == 1);
  const auto parts = parts_of(machine, share, 4);
  REQUIRE(parts.size() == 4);
  for (const launch::MachinePart& part : parts) CHECK(part.cores.empty());
  CHECK(error_text([] {
          share_of_machine(machine_of({0, 1}, 1), 2, {});
        }) == "search.parallel: 2: this machine has 1 GPU to share among the trials; use at most as many");
}

TEST_CASE("trials whose devices are CPUs have no GPU") {
  StrategyOptions strategy;
  strategy.devices = std::vector<DeviceId>{{DeviceId::Kind::kCpu, 0}};
  CHECK(share_of_machine(machine_of({0, 1, 2, 3}, 1), 4, strategy).gpus == 0);
}

TEST_CASE("a GPU that is listed has to be in a trial's share") {
  StrategyOptions strategy;
  strategy.devices = std::vector<DeviceId>{{DeviceId::Kind::kCuda, 1}};
  CHECK(share_of_machine(machine_of({0, 1, 2, 3}, 4), 2, strategy).gpus == 2);
  CHECK(error_text([&] {
          share_of_machine(machine_of({0, 1, 2, 3}, 4), 4, strategy);
        }) ==
        "strategy.devices: cuda:1 is not among the 1 GPU of a trial, which count from 0 in each, with search.parallel: "
        "4; list those of one trial, or leave the key out");
}

TEST_CASE("a study whose trials have more GPUs than the machine is not continued there") {
  const TrialShare share{4, 4, 2, 2};
  const auto refusal = [&](int trials, std::size_t gpus) {
    return error_text([&] { require_gpus_for(share, machine_of({0, 1, 2, 3}, gpus), trials); });
  };
  CHECK_NOTHROW(require_gpus_for(share, machine_of({0, 1, 2, 3}, 4), 2));
  CHECK(has_in_order(refusal(4, 4), {"search.parallel: 4: ", "2 GPUs", "8 are needed", "machine has 4; ", "at most 2",
                                     "another --run-dir"}));
  CHECK(refusal(1, 1).find("2 are needed, and this machine has 1; continue it on a machine with more") !=
        std::string::npos);
  // Its replicas are those of the machine that it began on.
  CHECK(pinned_strategy(batch_of(64), machine_of({0, 1, 2, 3}, 2), share) ==
        pinned_strategy(batch_of(64), machine_of({0, 1, 2, 3}, 4), share));
}

TEST_CASE("the GPUs of a part are those that this process sees") {
  ::setenv("CUDA_VISIBLE_DEVICES", "6, GPU-5a,3,1", 1);
  const auto parts = parts_of(machine_of({0, 1, 2, 3}, 4), {4, 4, 2, 2}, 2);
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  CHECK(parts[0].gpus == "6,GPU-5a");
  CHECK(parts[1].gpus == "3,1");
}

TEST_CASE("a run has the replicas and threads that it would have on the whole machine, on the devices of its share") {
  using Settings = std::vector<std::string>;
  const TrialShare half{4, 0, 2, 0};
  for (const Machine& machine :
       {machine_of({0, 1, 2, 3}), machine_of({0, 1, 2, 3, 4, 5, 6, 7})}) {  // it may be another
    CHECK(pinned_strategy(batch_of(64), machine, half) ==
          Settings{"strategy.devices=[cpu:0, cpu:1]", "strategy.replicas=4", "strategy.threads_per_replica=1"});
    CHECK(pinned_strategy(batch_of(32), machine, half) ==
          Settings{"strategy.devices=[cpu:0]", "strategy.replicas=2", "strategy.threads_per_replica=2"});
  }
  const Machine machine = machine_of({0, 1, 2, 3});
  CHECK(pinned_strategy(batch_of(64), machine, {4, 0, 1, 0}) ==
        Settings{"strategy.devices=[cpu:0]", "strategy.replicas=4", "strategy.threads_per_replica=1"});
  CHECK(pinned_strategy(batch_of(64), machine, {4, 0, 4, 0}).size() == 2);  // alone, as it is without tune
  // Four threads do not fit in a share, which has its own two.
  CHECK(pinned_strategy(batch_of(16), machine, half) ==
        Settings{"strategy.devices=[cpu:0]", "strategy.threads_per_replica=2"});
  Configuration listed = batch_of(64);
  listed.strategy.devices = std::vector<DeviceId>{{DeviceId::Kind::kCpu, 0}, {DeviceId::Kind::kCpu, 1}};
  CHECK(pinned_strategy(listed, machine, half) ==
        Settings{"strategy.devices=[cpu:0]", "strategy.replicas=2", "strategy.threads_per_replica=2"});
}

TEST_CASE("GPUs that are listed stay, and of all a run has its share") {
  using Settings = std::vector<std::string>;
  const Machine machine = machine_of({0, 1, 2, 3}, 4);
  CHECK(pinned_strategy(batch_of(64), machine, {4, 4, 2, 2}) ==
        Settings{"strategy.devices=[cuda:0, cuda:1]", "strategy.replicas=4"});
  Configuration listed = batch_of(64);
  listed.strategy.devices = std::vector<DeviceId>{{DeviceId::Kind::kCuda, 1}};
  CHECK(pinned_strategy(listed, machine, {4, 4, 2, 2}).empty());
}

}  // namespace
}  // namespace mirrortrain::tune
